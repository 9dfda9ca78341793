# Completion of supple's command line in bash. The tool itself answers (`supple --complete`): nothing here knows an option by name.

_supple() {
    local line=${COMP_LINE:0:COMP_POINT} tool=$1 cur="" cut item ending base c i quote="" begun=""
    local -a words=() endings
    # the words as the shell will see them: quotes and backslashes taken off, not cut at : and =
    for ((i = 0; i < ${#line}; i++)); do
        c=${line:i:1}
        case $quote$c in
        "''" | '""') quote="" ;;
        "'"?) cur+=$c ;;
        \\ | '"\') ((++i)) && cur+=${line:i:1} begun=1 ;;
        '"'?) cur+=$c ;;
        "'" | '"') quote=$c begun=1 ;;
        [[:space:]])
            [[ $begun ]] && words+=("$cur")
            cur="" begun=""
            ;;
        *) cur+=$c begun=1 ;;
        esac
    done
    words+=("$cur")
    words=("${words[@]/#\~\//$HOME/}")
    # --option=value is the option and then the value
    base=$cur
    if [[ $cur == --*=* ]]; then
        base=${cur#*=}
        words=("${words[@]:0:${#words[@]}-1}" "${cur%%=*}" "$base")
    fi
    cut=${cur%"${cur##*[:=]}"} # bash replaces what follows these two
    [[ $COMP_WORDBREAKS == *:* ]] || cut=${cur%"${cur##*=}"}

    COMPREPLY=()
    while IFS= read -r item; do
        case $item in
        :folders)
            compopt -o filenames 2>/dev/null
            while IFS= read -r item; do COMPREPLY+=("$item"); done < <(compgen -d -- "$base")
            ;;
        :files*)
            compopt -o filenames 2>/dev/null
            read -ra endings <<<"${item#:files}"
            while IFS= read -r item; do
                [[ -d $item ]] && COMPREPLY+=("$item")
                for ending in "${endings[@]}"; do
                    [[ ! -d $item && ${item,,} == *."$ending" ]] && COMPREPLY+=("$item")
                done
            done < <(compgen -f -- "$base")
            ;;
        *)
            [[ $item == *= ]] && compopt -o nospace 2>/dev/null
            [[ ! $quote && $item == *[!A-Za-z0-9_.,:=/+-]* ]] && printf -v item %q "$item"
            [[ $cur == --*=* && $cut == "${cur%%=*}=" ]] || item=${item#"$cut"}
            COMPREPLY+=("$item")
            ;;
        esac
    done < <("$tool" --complete "${words[@]:1}" 2>/dev/null)
}
complete -F _supple supple
