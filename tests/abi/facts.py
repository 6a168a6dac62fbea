"""Facts of C declarations, as a program that prints them.

Reads the preprocessed text of one of our headers, whose style is known: struct, union and enum definitions with a tag or a
typedef, members one or several a line, no bit fields.
"""

import re

TOKEN = re.compile(r"[A-Za-z_]\w*|0[xX][0-9a-fA-F]+|\d+|\S")


class Declarations:
    def __init__(self, text):
        self.tokens = TOKEN.findall(text)
        self.at = 0
        self.types = {}  # name as C says it -> list of member paths
        self.constants = []

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def read(self):
        while self.at < len(self.tokens):
            self.statement()
        return self

    def statement(self):
        """One declaration of a file. Only definitions of types leave something behind."""
        is_typedef, kind, tag, members = False, None, None, None
        rest = []
        while self.at < len(self.tokens):
            token = self.take()
            if token == "typedef":
                is_typedef = True
            elif token in ("struct", "union", "enum") and kind is None:
                kind, tag, members = token, *self.aggregate(token)
            elif token == "{":  # an inline function
                self.skip_braces()
                return
            elif token == ";":
                break
            else:
                rest.append(token)
        if kind in ("struct", "union") and members is not None:
            is_plain = is_typedef and len(rest) == 1
            self.types[rest[0] if is_plain else f"{kind} {tag}"] = members

    def aggregate(self, kind):
        """What follows `struct`: (tag or None, member paths or None)."""
        tag = self.take() if self.peek() != "{" else None
        while self.peek() == "__attribute__":
            self.take()
            self.skip_parentheses()
        if self.peek() != "{":
            return tag, None
        self.take()
        if kind == "enum":
            self.enumerators()
            return tag, None
        members = []
        while self.peek() != "}":
            members += self.member()
        self.take()
        return tag, members

    def enumerators(self):
        depth, is_name = 0, True
        while (token := self.take()) != "}":
            depth += (token == "(") - (token == ")")
            if is_name and depth == 0 and re.match(r"[A-Za-z_]", token):
                self.constants.append(token)
                is_name = False
            elif token == "," and depth == 0:
                is_name = True

    def member(self):
        """One line of members: the paths they add."""
        inner, last, found, brackets = None, None, [], 0
        while (token := self.take()) != ";":
            if token in ("struct", "union", "enum") and brackets == 0:
                _, inner = self.aggregate(token)
            elif token == "(":  # a pointer to a function: (*name)(...)
                if self.peek() == "*":
                    self.take()
                    last = self.take()
                    self.take()
                if self.peek() == "(":
                    self.take()
                self.skip_parentheses(already_open=True) if self.tokens[self.at - 1] == "(" else None
            elif token == "[":
                brackets += 1
            elif token == "]":
                brackets -= 1
            elif token == "," and brackets == 0:
                found.append(last)
            elif re.match(r"[A-Za-z_]", token) and brackets == 0:
                last = token
        if inner is not None and last is None:
            return inner  # an anonymous struct or union
        found.append(last)
        paths = []
        for name in found:
            paths.append(name)
            paths += [f"{name}.{path}" for path in inner or []]
        return paths

    def skip_parentheses(self, already_open=False):
        depth = 1 if already_open else 0
        while True:
            token = self.take()
            depth += (token == "(") - (token == ")")
            if depth == 0:
                return

    def skip_braces(self):
        depth = 1
        while depth:
            token = self.take()
            depth += (token == "{") - (token == "}")


def is_meant(member):
    """Not what fills up a struct for later versions."""
    return not re.match(r"(reserved|pad)\d*$", member.split(".")[-1])


def program(header, declarations, is_known):
    """C text. `is_known` says whether the toolkit has a constant; the others are left out."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", f'#include "{header}"', "int main(void) {"]
    for name, members in declarations.types.items():
        lines.append(f'  printf("{name} is %zu bytes, aligned to %zu\\n", sizeof({name}), _Alignof({name}));')
        for member in filter(is_meant, members):
            lines.append(f'  printf("{name}: {member} is at %zu, %zu bytes\\n", offsetof({name}, {member}), '
                         f"sizeof((({name} *)0)->{member}));")
    for name in filter(is_known, declarations.constants):
        lines.append(f'  printf("{name} is %lld\\n", (long long){name});')
    return "\n".join([*lines, "}", ""])
