# Typed into zsh as its first line (`. /dev/fd/197`): the user's own files of settings come first, as an interactive zsh
# reads them, then what lets us hand in commands; how that goes, bash.sh tells.
#
# Programs must get none of our descriptors, and zsh redirects no numbers of three digits: they are opened again.
zmodload zsh/system
sysopen -r -o cloexec -u __ipycodex_lines /dev/fd/196
sysopen -r -o cloexec -u __ipycodex_commands /dev/fd/198
sysopen -rw -o cloexec -u __ipycodex_terminal /dev/fd/199
for __ipycodex_command in 196 197 198 199; do exec {__ipycodex_command}>&-; done
builtin print -rn -u $__ipycodex_terminal -- $'\e]7717;@NONCE@;go\a'
typeset +x PS1
PS1='%m%# '
if [[ @RC@ == 1 ]]; then
  setopt rcs
  [[ -r ${ZDOTDIR:-$HOME}/.zshenv ]] && . "${ZDOTDIR:-$HOME}/.zshenv"
  for __ipycodex_command in /etc/zsh/zshrc /etc/zshrc; do
    [[ -r $__ipycodex_command ]] && . $__ipycodex_command
  done
  [[ -r ${ZDOTDIR:-$HOME}/.zshrc ]] && . "${ZDOTDIR:-$HOME}/.zshrc"
fi
__ipycodex_prompt() {
  __ipycodex_status=$?
  local -a reply
  PS1= PS2= RPS1= RPS2=
  # The line editor would read ahead what was typed for the next command; errors are those of a prompt.
  unsetopt zle prompt_sp prompt_cr eval_lineno
  # Hooks of the user's are for the command, not for the line that takes it.
  __ipycodex_preexecs=(${preexec_functions:#__ipycodex_read}) preexec_functions=()
  __ipycodex_aside preexec
  exec 0<&$__ipycodex_lines
  builtin print -rn -u $__ipycodex_terminal -- $'\e]7717;@NONCE@;'$__ipycodex_status.$$$'\a'
}
# Puts a function aside, and back.
__ipycodex_aside() {
  (( $+functions[$1] )) || return
  functions[__ipycodex_own_$1]=$functions[$1]
  unfunction $1
}
__ipycodex_back() {
  (( $+functions[__ipycodex_own_$1] )) || return
  functions[$1]=$functions[__ipycodex_own_$1]
  unfunction __ipycodex_own_$1
}
# Reads the words behind that of this command; one before it may have been interrupted before it was taken. `read -d`
# would put the terminal back to what it was before.
__ipycodex_take() {
  local words= piece at=0
  until [[ $words == *$'\0' ]] && reply=("${(@0)words}") at=${reply[(Ie)@NONCE@$1]} && ((at && $#reply - at > 2)); do
    sysread -i $__ipycodex_commands piece || builtin exit
    words+=$piece
  done
  shift $at reply
}
__ipycodex_hook() {
  local before=$?
  __ipycodex_last=$1
  precmd_functions=(${precmd_functions:#__ipycodex_prompt} __ipycodex_prompt)
  return $before
}
# The line that is typed when a prompt came without the word of how the command ended.
__ipycodex_again() {
  __ipycodex_hook "$__ipycodex_last"
}
__ipycodex_keep() {
  return $__ipycodex_status
}
__ipycodex_go() {
  builtin print -rn -u $__ipycodex_terminal -- $'\e]7717;@NONCE@;go\a'
  local -a reply
  __ipycodex_take $1
  __ipycodex_command=$reply[2]
  [[ $__ipycodex_command == *'$_'* ]] && __ipycodex_command="__ipycodex_keep ${(qq)__ipycodex_last}; $__ipycodex_command"
  [[ -z $reply[1] || $reply[1] -ef . ]] || builtin cd -- $reply[1] <&$__ipycodex_terminal
  builtin print -rs -- $reply[2]
  __ipycodex_as_typed
  # What comes before the prompt of that line is no prompt.
  __ipycodex_precmds=("${precmd_functions[@]}") precmd_functions=(__ipycodex_between)
  __ipycodex_aside precmd
  return $__ipycodex_status
}
# `eval` would be the first job, and the command's the second: a command is read as if it had been typed.
__ipycodex_as_typed() {
  local text=$__ipycodex_command$'\n\n__ipycodex_hook "$_"'
  aliases[__ipycodex_run]='builtin eval "$__ipycodex_command"; __ipycodex_hook "$_"'
  # Where it is not whole, the shell would go on to read it from the terminal; a document without an end takes the rest.
  __ipycodex_parses "$text" && __ipycodex_parses $'{\n'$__ipycodex_command$'\n\n}' || return
  # Comments are comments, as they are for `eval`: this option lasts until the line has been read.
  if [[ $text == *'#'* && ! -o interactive_comments ]]; then
    [[ -o local_options ]] && return
    setopt interactive_comments
    __ipycodex_comments=1
  fi
  aliases[__ipycodex_run]=$text
}
__ipycodex_parses() {
  unset 'functions[__ipycodex_whole]'
  { functions[__ipycodex_whole]=$1 } 2>/dev/null
  (( $+functions[__ipycodex_whole] ))
}
# The line has been read: the terminal is the command's, and who lists aliases finds their own.
__ipycodex_read() {
  exec 0<&$__ipycodex_terminal
  # Should the command throw our function out of precmd_functions, the prompt itself is a mark.
  PS1=$'\e]7717;@NONCE@;prompt\a'
  unset 'aliases[__ipycodex_run]'
  ((__ipycodex_comments)) && unsetopt interactive_comments
  __ipycodex_comments=0
  # Before this, an interrupt would end what prepares the command, and the command would run all the same.
  builtin print -rn -u $__ipycodex_terminal -- $'\e]7717;@NONCE@;run\a'
}
__ipycodex_between() {
  precmd_functions=("${__ipycodex_precmds[@]}") preexec_functions=(__ipycodex_read "${__ipycodex_preexecs[@]}")
  __ipycodex_back precmd
  __ipycodex_back preexec
  return $__ipycodex_status
}
# Commands are in the record of the session; the file of the user's own shells stays theirs.
unset HISTFILE
__ipycodex_status=0 __ipycodex_comments=0
typeset -ga precmd_functions
__ipycodex_hook
