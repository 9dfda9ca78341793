# Completion of supple's command line in bash. The tool itself answers (`supple --complete`): nothing here knows an option by name.

_supple() {
    local line=${COMP_LINE:0:COMP_POINT} tool=$1 cur cut item ending base
    local -a words endings
    if declare -F _get_comp_words_by_ref >/dev/null; then
        local cword # with quotes taken into account, and without cutting words at : and =
        _get_comp_words_by_ref -n := -c cur -w words -i cword
        words=("${words[@]:0:cword+1}")
    else
        read -ra words <<<"$line"
        [[ $line == *[[:space:]] ]] && words+=("")
        cur=${words[-1]}
    fi
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
            [[ $item == *[!A-Za-z0-9_.,:=/+-]* ]] && printf -v item %q "$item"
            [[ $cur == --*=* && $cut == "${cur%%=*}=" ]] || item=${item#"$cut"}
            COMPREPLY+=("$item")
            ;;
        esac
    done < <("$tool" --complete "${words[@]:1}" 2>/dev/null)
}
complete -F _supple supple
