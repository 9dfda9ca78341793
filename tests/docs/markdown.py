"""The little of Markdown that the docs use: code blocks with their test comments, headings, links and pictures."""
import collections
import re

# A code block: where it begins, its language, its lines without the fence's own indentation, and what the comment before it says.
Block = collections.namedtuple("Block", "page line language text test")

FENCE = re.compile(r"^( *)```(.*)$")
COMMENT = re.compile(r"^ *<!-- test: (.*) -->$")
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
TAG = re.compile(r"""<(?:img|a)\b[^>]*?\b(?:src|href)=["']([^"']+)["']""")


class Page:
    def __init__(self, name, text):
        self.name, self.blocks, self.mistakes, self.prose = name, [], [], []
        self.read(text.split("\n"))

    def read(self, lines):
        start = test = fence = None
        body = []
        for number, line in enumerate(lines, 1):
            match = FENCE.match(line)
            if fence is not None:
                if match and not match.group(2):
                    self.blocks.append(Block(self.name, start, language, "\n".join(body), test))
                    fence = test = None
                else:
                    body.append(line[len(fence):] if line.startswith(fence) else line.lstrip())
                continue
            if match:
                fence, language, start, body = match.group(1), match.group(2), number, []
                continue
            comment = COMMENT.match(line)
            if test and (comment or line.strip()):
                self.mistakes.append(f"{self.name}:{number}: a test comment belongs right before a code block")
                test = None
            if comment:
                test = comment.group(1)
                continue
            if line.startswith("    ") and line.strip() and (number == 1 or not lines[number - 2].strip()):
                self.mistakes.append(f"{self.name}:{number}: an indented block; fence it with its language: ```sh, c, python, json or text")
            self.prose.append((number, line))
        if fence is not None:
            self.mistakes.append(f"{self.name}:{start}: the code block has no end")

    def anchors(self):
        """The anchors of its headings, as GitHub makes them."""
        found = collections.Counter()
        names = set()
        for _, line in self.prose:
            match = re.match(r"#{1,6} +(.*?) *#*$", line)
            if not match:
                continue
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1)).lower()
            slug = re.sub(r"[^\w\- ]", "", title.replace("`", "")).replace(" ", "-")
            names.add(slug + (f"-{found[slug]}" if found[slug] else ""))
            found[slug] += 1
        return names

    def links(self):
        """(line, target) of every link and picture outside code."""
        for number, line in self.prose:
            plain = re.sub(r"`[^`]*`", lambda code: "x" * len(code.group()), line)
            for pattern in (LINK, TAG):
                for match in pattern.finditer(plain):
                    yield number, line[match.start(1):match.end(1)]
