# Read by bash in place of its own file of settings: the user's comes first, then what lets us hand in commands.
#
# At every prompt bash says how the last command ended and reads one line, as from a keyboard, but from a pipe (196): what
# is typed on the terminal is the command's, and never such a line. The line takes the command from 198 and runs it at
# the top level, so that variables, functions, jobs and `set` are what they are at any prompt. Marks go out on 199, which
# is the terminal whatever the user does with 0, 1 and 2. Programs get none of these.
exec 197<&-
[[ @RC@ == 1 && -r ~/.bashrc ]] && . ~/.bashrc
__ipycodex_keep() {
  __ipycodex_status=$? __ipycodex_kept=1
  # Hooks of the user's may ask the terminal.
  \builtin exec 0<&199
  \builtin return "$__ipycodex_status"
}
__ipycodex_after() {
  __ipycodex_status=$? __ipycodex_last=$1
  \builtin return "$__ipycodex_status"
}
__ipycodex_prompt() {
  \builtin local status=$?
  [[ $__ipycodex_kept ]] || __ipycodex_status=$status
  __ipycodex_kept=
  # Should the user's settings throw this function out of PROMPT_COMMAND, the prompt itself is a mark.
  PS1=$'\e]7717;@NONCE@;prompt\a' PS2=
  \builtin exec 0<&196
  \builtin printf '\e]7717;@NONCE@;%d.%d\a' "$__ipycodex_status" "$$" >&199
}
__ipycodex_hook() {
  \builtin local status=$?
  [[ ${PROMPT_COMMAND[*]} == *__ipycodex_prompt* ]] && \builtin return "$status"
  PS1=$'\e]7717;@NONCE@;prompt\a'
  # Where the user may not set it, nobody may.
  (PROMPT_COMMAND=) 2>/dev/null || \builtin return "$status"
  if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
    PROMPT_COMMAND=(__ipycodex_keep "${PROMPT_COMMAND[@]}" __ipycodex_prompt)
  else
    PROMPT_COMMAND="__ipycodex_keep${PROMPT_COMMAND:+;$PROMPT_COMMAND};__ipycodex_prompt"
  fi
  \builtin return "$status"
}
# The line that is sent when a prompt came without the word of how the command ended, or may have come unseen.
__ipycodex_again() {
  __ipycodex_status=$? __ipycodex_kept=1
  __ipycodex_hook
  [[ ${PROMPT_COMMAND[*]} == *__ipycodex_prompt* ]] || __ipycodex_prompt
  \builtin return "$__ipycodex_status"
}
__ipycodex_go() {
  \builtin local place
  \builtin printf '\e]7717;@NONCE@;go\a' >&199
  # A command before this one may have been interrupted before it was taken.
  __ipycodex_command=
  until [[ $__ipycodex_command == "@NONCE@$1" ]]; do
    IFS= \builtin read -r -d '' -u 198 __ipycodex_command || \builtin exit
  done
  IFS= \builtin read -r -d '' -u 198 place || \builtin exit
  IFS= \builtin read -r -d '' -u 198 __ipycodex_command || \builtin exit
  [[ -z $place || $place -ef . ]] || \builtin cd -- "$place"
  \builtin printf '\e]7717;@NONCE@;run\a' >&199
  \builtin history -s -- "$__ipycodex_command"
  # What follows a document without an end would be part of it: bash warns of one that it only reads.
  [[ $__ipycodex_command == *'<<'* && -n $(BASH_ENV= "$BASH" -n -c "$__ipycodex_command" 2>&1) ]] ||
    __ipycodex_command+=$'\n\n__ipycodex_after "$_"'
  \builtin return "$__ipycodex_status"
}
# Commands are in the record of the session; the file of the user's own shells stays theirs.
set +o history
__ipycodex_status=0 __ipycodex_last= __ipycodex_kept=
__ipycodex_hook
exec 0<&196
