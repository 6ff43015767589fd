# The release as a Debian package: scripts/release makes it. Its dependencies are those of the libraries that the
# programs load, as dpkg-shlibdeps reads them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME undertone)
set(CPACK_PACKAGE_VENDOR "Undertone")
set(CPACK_PACKAGE_CONTACT "The founders of Undertone <founders@undertone.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Federated learning between institutions that trust nobody but themselves")
set(CPACK_PACKAGE_DESCRIPTION
  "A coordinator drives rounds of noisy optimisation and questions. Agents at institutions answer with what they have clipped and noised themselves, so that everything an institution sends is differentially private for every record it holds.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS OFF)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "systemd")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  "${PROJECT_SOURCE_DIR}/configs/debian/postinst;${PROJECT_SOURCE_DIR}/configs/debian/prerm")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
# One package of all that is for a host: the Python package has a way of its own.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_COMPONENTS_ALL programs services manuals documents)
include(CPack)
