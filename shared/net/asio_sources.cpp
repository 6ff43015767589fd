// The functions of Asio, its SSL and Beast that are no templates are compiled here once, and not in every unit that
// includes them.
// @see BOOST_ASIO_SEPARATE_COMPILATION
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
