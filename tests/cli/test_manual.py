#!/usr/bin/env python3
"""test_manual.py --tool BUILD/supple: the manual page and the completion say what --help says, of every verb and every option."""
import os
import re
import shutil
import subprocess

from tool import SOURCE, session
from cases import Skip

ASK = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
COMP_WORDS=() COMP_CWORD=0
# As readline cuts the line: at blanks, and at : and = as words of their own
while IFS= read -r word; do COMP_WORDS+=("$word"); done < <(sed -E 's/([:=])/ \\1 /g; s/ +/ /g' <<<"${2% }" | tr ' ' '\\n' | sed '/^$/d')
[[ $2 == *' ' ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_supple "$3"
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Completion:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        for name in ("my.glb", "other.FBX", "motion.bvh", "notes.txt", "flesh.msh", "trained.supple", "things.json", "with blank.glb"):
            open(os.path.join(folder, name), "w").close()
        os.makedirs(os.path.join(folder, "subfolder"))
        done = tool("demo", "arm", "-o", os.path.join(folder, "arm.glb"))
        assert done.code == 0, done.err

    def ask(self, line, helper=None):
        """What bash would offer after this line, the cursor at its end."""
        script = (f"source {helper}\n" if helper else "") + ASK
        done = subprocess.run(["bash", "-c", script, "ask", os.path.join(SOURCE, "scripts", "completion.bash"), line, self.tool.path],
                              cwd=self.folder, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stderr == "", done
        return [word for word in done.stdout.split("\n") if word]


def verbs(tool):
    return re.findall(r"^  supple (\w+) ", tool("--help").out, re.M)


def options(tool, verb):
    """(name, argument) of every option that --help has."""
    return re.findall(r"^  (-[\w-]+) (\S*)", tool(verb, "--help").out.split("\nIN:")[0].split("\nAfter any")[0], re.M)


def check_man_is_complete(tool):
    """Every verb, option and help text, every method, parameter and output format is in the page."""
    done = tool("--man")
    assert done.code == 0 and done.err == "" and done.out.startswith(".TH SUPPLE 1 "), done
    text = done.out.replace("\\-", "-").replace("\\&", "").replace("\\fB", "").replace("\\fR", "").replace("\\(ga", "`").replace("\\(ha", "^")
    words = " ".join(text.split())
    assert len(verbs(tool)) >= 7
    for verb in verbs(tool):
        assert f".SS supple {verb}\n" in text, f"no section for {verb}"
        part = text.split(f".SS supple {verb}\n")[1].split("\n.SS ")[0].split("\n.SH ")[0]
        found = options(tool, verb)
        assert found or verb in ("bench",), f"--help of {verb} has no options"
        for name, argument in found:
            assert f".TP\n{name} {argument}".rstrip() + "\n" in part, f"{verb}: {name} is not in the page"
        for line in tool(verb, "--help").out.split("\n"):
            for piece in re.split(r" {2,}", line.strip()):
                piece = piece.split(" ", 1)[1] if re.match(r"(projective|reference|-o|--\S+) ", piece) else piece
                if not piece.startswith("usage:") and piece[1:] not in words:
                    raise AssertionError(f"{verb}: not in the page: {piece!r}")


def check_linter(tool, folder, *command):
    if not shutil.which(command[0]):
        raise Skip(f"no {command[0]}")
    page = os.path.join(folder, "supple.1")
    with open(page, "w", encoding="utf-8") as file:
        file.write(tool("--man").out)
    done = subprocess.run([*command, page], capture_output=True, text=True, timeout=60)
    said = done.stderr + (done.stdout if "-Tlint" in command else "")
    assert said == "" and done.returncode == 0, said[:1000]


def check_words(completion, line, *expected, exact=True):
    offered = completion.ask(line)
    wrong = set(expected) - set(offered) if not exact else set(expected) ^ set(offered)
    assert not wrong, f"{line!r}: {sorted(wrong)} differ; offered {offered}"


def check_options(completion, tool, verb):
    names = [name for name, _ in options(tool, verb)]
    check_words(completion, f"supple {verb} x -", *names, "--help")


def check_help_words(completion, tool):
    """The words that --help lists for an option are those that are offered, and the tool takes each of them."""
    for verb, option, words in (("skin", "--progress", "auto always never"), ("skin", "--dynamics", "on off"),
                                ("skin", "--collide", "self world self,world none"), ("skin", "--solver", "own cholmod auto"),
                                ("weights", "--weights", "bbw heat own"), ("train", "--body", "tets prism")):
        check_words(completion, f"supple {verb} demo:arm {option} ", *words.split())


def check_methods(completion, tool):
    names = re.findall(r"^  (\w+) ", tool("skin", "--help").out.split("Methods:")[1].split("After any")[0], re.M)
    check_words(completion, "supple skin demo:arm --method ", "auto", *names)
    check_words(completion, "supple skin demo:arm --method=du", "dualquat")


def check_settings(completion):
    check_words(completion, "supple skin x.glb --method mixed --set energy=", "arap", "corot", "neohookean")
    check_words(completion, "supple skin x.glb --method projective --set acc", "accelerate=")
    check_words(completion, "supple skin x.glb --set ", "max-tets=", "grade=on", "glb-error=", "twist=", "slide.young=", exact=False)
    check_words(completion, "supple train x.glb --set ", "modes=", "derivatives=", "max-tets=", "grade=on", "seed=", exact=False)


def check_everything(tool, folder):
    done = subprocess.run(["bash", "-n", os.path.join(SOURCE, "scripts", "completion.bash")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def check_files(completion):
    characters = ["my.glb", "arm.glb", "other.FBX", "with blank.glb", "subfolder"]
    demos = [f"demo:{name}" for name in "hero arm beam cylinder torus sack turtle".split()]
    check_words(completion, "supple skin ", *demos, *characters)
    check_words(completion, "supple skin demo:", *(name[5:] for name in demos))
    check_words(completion, "supple skin my", "my.glb")
    check_words(completion, "supple info ", *demos, *characters, "trained.supple")
    check_words(completion, "supple mesh f", "flesh.msh")
    check_words(completion, "supple demo ", *(name[5:] for name in demos))
    check_words(completion, "supple skin my.glb --motion ", "motion.bvh", "subfolder")
    check_words(completion, "supple skin my.glb --model ", "trained.supple", "subfolder")
    check_words(completion, "supple skin my.glb --material ", "things.json", "subfolder")
    check_words(completion, "supple skin my.glb --collider ", "things.json", *characters)
    check_words(completion, "supple skin my.glb --dump-sim ", "subfolder")
    check_words(completion, "supple skin my.glb -o ", "my.glb", "arm.glb", "with blank.glb", "subfolder")


def check_clips(completion):
    check_words(completion, "supple skin arm.glb --clip ", "all", "bend", "twist")
    check_words(completion, "supple skin demo:turtle -o x.png --clip w", "walk")
    check_words(completion, "supple skin my.glb --clip ", "all")  # an empty file: no clips, no word about it
    check_words(completion, "supple skin missing.glb --clip ", "all")
    shutil.copyfile(os.path.join(completion.folder, "arm.glb"), os.path.join(completion.folder, "blank arm.glb"))
    for name in ("blank\\ arm.glb", "'blank arm.glb'", '"blank arm.glb"'):
        check_words(completion, f"supple skin {name} --clip ", "all", "bend", "twist")
    check_words(completion, "supple compare arm.glb --clips b", "bend")
    check_words(completion, "supple help sk", "skin")


def check_with_helper(completion):
    """With bash-completion's own functions loaded, as on most systems."""
    helper = "/usr/share/bash-completion/bash_completion"
    if not os.path.exists(helper):
        raise Skip("no bash-completion")
    assert completion.ask("supple skin demo:t", helper) == ["torus", "turtle"]
    assert completion.ask("supple skin arm.glb --clip b", helper) == ["bend"]
    assert completion.ask("supple skin arm.glb --method=du", helper) == ["dualquat"]


def main():
    with session(__doc__) as (tool, cases, folder):
        cases.run("man_is_complete", check_man_is_complete, tool)
        cases.run("man_in_mandoc", check_linter, tool, folder, "mandoc", "-Tlint", "-Wwarning")
        cases.run("man_in_groff", check_linter, tool, folder, "groff", "-man", "-ww", "-Tutf8")
        completion = Completion(tool, os.path.join(folder))
        cases.run("completion_is_bash", check_everything, tool, folder)
        cases.run("completes_verbs", check_words, completion, "supple ", *verbs(tool), "--help", "--version")
        for verb in verbs(tool):
            cases.run(f"completes_options_of_{verb}", check_options, completion, tool, verb)
        cases.run("completes_words_of_help", check_help_words, completion, tool)
        cases.run("completes_methods", check_methods, completion, tool)
        cases.run("completes_settings", check_settings, completion)
        cases.run("completes_files", check_files, completion)
        cases.run("completes_clips", check_clips, completion)
        cases.run("completes_with_bash_completion", check_with_helper, completion)


if __name__ == "__main__":
    main()
