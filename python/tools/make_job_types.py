"""Writes src/undertone/_job_types.py, the dataclasses of a job, from docs/schemas/job.json.

    python3 python/tools/make_job_types.py          writes the file
    python3 python/tools/make_job_types.py --check  fails where the file is not what would be written
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "docs" / "schemas" / "job.json"
TARGET = ROOT / "python" / "src" / "undertone" / "_job_types.py"

SINGULAR = {
    "features": "feature",
    "questions": "question",
    "cohort": "member",
    "classes": "class",
    "stages": "stage",
    "shufflers": "shuffler",
    "batches": "batch",
    "cells": "cell",
    "phases": "phase",
    "groups": "group",
    "directions": "direction",
}


def parts_of(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a schema with all that it says under conditions."""
    out = [node]
    for key in ("allOf", "anyOf", "oneOf"):
        for part in node.get(key, []):
            out += parts_of(part)
    for key in ("then", "else"):
        if isinstance(node.get(key), dict):
            out += parts_of(node[key])
    return out


def properties_of(node: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return each key of an object with everything that is said of it."""
    out: dict[str, list[dict[str, Any]]] = {}
    for part in parts_of(node):
        for key, said in part.get("properties", {}).items():
            if isinstance(said, dict):
                out.setdefault(key, []).extend(parts_of(said))
    return out


def camel(words: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in words.replace("-", "_").split("_"))


class Writer:
    """Collects the classes, the innermost first."""

    def __init__(self) -> None:
        self.classes: list[str] = []
        self.names: list[str] = []

    def type_of(self, name: str, said: list[dict[str, Any]]) -> str:
        """Return the annotation for a value of which this is said."""
        kinds: list[str] = []
        literals: list[str] = []
        for one in said:
            if "const" in one:
                literals.append(json.dumps(one["const"]))
            elif "enum" in one:
                literals += [json.dumps(value) for value in one["enum"] if isinstance(value, str)]
            elif "$ref" in one:
                kinds.append("str")
            elif "type" in one:
                listed = one["type"] if isinstance(one["type"], list) else [one["type"]]
                kinds += [str(kind) for kind in listed]
        out: list[str] = []
        if literals and "str" not in kinds and "string" not in kinds:
            out.append(f"Literal[{', '.join(dict.fromkeys(literals))}]")
        for kind in dict.fromkeys(kinds):
            out.append(self.plain(name, kind, said))
        return " | ".join(dict.fromkeys(out)) or "Any"

    def plain(self, name: str, kind: str, said: list[dict[str, Any]]) -> str:
        if kind == "object":
            whole = {"allOf": [one for one in said if "properties" in one or "allOf" in one]}
            return self.object_of(name, whole, said) if properties_of(whole) else "dict[str, Any]"
        if kind == "array":
            items = [part for one in said if isinstance(one.get("items"), dict) for part in parts_of(one["items"])]
            last = name.rsplit(".", 1)[-1]
            singular = SINGULAR.get(last, last)
            return f"list[{self.type_of(name[: len(name) - len(last)] + singular, items)}]"
        return {
            "number": "float",
            "integer": "int",
            "boolean": "bool",
            "string": "str",
            "str": "str",
            "null": "None",
        }[kind]

    def object_of(self, path: str, node: dict[str, Any], said: list[dict[str, Any]]) -> str:
        name = "".join(camel(part) for part in path.split(".")) or "Job"
        while name in self.names:
            name += "_"
        self.names.append(name)
        always = [one for one in said if one.get("type") == "object" and "properties" in one]
        required = set(always[0].get("required", [])) if always else set()
        rows: list[tuple[str, str, str, bool]] = []
        for key, of_key in properties_of(node).items():
            annotation = self.type_of(f"{path}.{key}" if path else key, of_key)
            about = next((one["description"] for one in of_key if "description" in one), "")
            rows.append((key, annotation, about, key in required))
        words = path.rsplit(".", 1)
        about = f"One {words[-1]} of {words[0].replace('.', ', ')}" if len(words) == 2 else f"The {path} of a job"
        about = next((one["description"] for one in said if "description" in one), about)
        self.classes.append(written(name, about, rows))
        return name


def written(name: str, about: str, rows: list[tuple[str, str, str, bool]]) -> str:
    lines = ["@dataclass(kw_only=True)", f"class {name}(Section):"]
    sentence = about[:1].upper() + about[1:]
    lines.append(textwrap.indent(textwrap.fill(f'r"""{sentence.rstrip(".")}.', 110), "    "))
    lines += ["", "    Parameters", "    ----------"]
    for key, annotation, said, needed in rows:
        field = key + "_" if keyword.iskeyword(key) else key
        kind = re.sub(r"Literal\[([^\]]*)\]", r"{\1}", annotation)
        suffix = "" if needed else ", optional"
        lines.append(f"    {field} : {kind}{suffix}" if len(kind) < 200 else f"    {field} : see the annotation{suffix}")
        if said:
            text = (said[:1].upper() + said[1:]).replace("|", r"\|")
            lines.append(textwrap.indent(textwrap.fill(text.rstrip(".") + ".", 106), "        "))
    lines += ['    """', ""]
    for key, annotation, _, needed in sorted(rows, key=lambda row: not row[3]):
        field = key + "_" if keyword.iskeyword(key) else key
        optional = annotation if "Any" == annotation else f"{annotation} | None"
        end = "" if needed else " = None"
        if key == "format" and annotation.startswith("Literal["):
            optional, end, needed = annotation, " = " + annotation[len("Literal[") : -1], False
        lines.append(f"    {field}: {annotation if needed else optional}{end}")
    lines.append("    _keys = (" + ", ".join(json.dumps(key) for key, *_ in rows) + ("," if len(rows) == 1 else "") + ")")
    return "\n".join(lines)


def text() -> str:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    writer = Writer()
    said = parts_of(schema)
    writer.object_of("", schema, said)
    head = '''"""The sections of a job, made from docs/schemas/job.json by tools/make_job_types.py: not to be edited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ._section import Section

__all__ = [
'''
    names = "".join(f'    "{name}",\n' for name in sorted(writer.names))
    return head + names + "]\n\n\n" + "\n\n\n".join(writer.classes) + "\n"


def main() -> int:
    made = text()
    if "--check" in sys.argv:
        if TARGET.read_text(encoding="utf-8") == made:
            return 0
        print(f"{TARGET} is not what the schema says: run {Path(__file__).name}", file=sys.stderr)
        return 1
    TARGET.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
