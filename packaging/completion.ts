// The completion of bash, zsh and fish, from one table of words.

/** The words that can follow the words of the key. */
type Words = ReadonlyMap<string, readonly string[]>;

const NOTE = "# Completion of countersign(1). Generated from the list of commands.\n";

/** Each key as a case of a shell; the keys contain letters, dashes and spaces only. */
function cases(words: Words): string {
  return [...words].map(([at, all]) => `    "${at}") echo "${all.join(" ")}" ;;\n`).join("");
}

export function bashCompletion(words: Words): string {
  return `${NOTE}
_countersign_words() {
  case "$1" in
${cases(words)}  esac
}

_countersign() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=""
  ((COMP_CWORD < 3)) || words=$(_countersign_words "\${COMP_WORDS[1]} \${COMP_WORDS[2]}")
  if [[ -z $words ]]; then
    if ((COMP_CWORD == 1)); then words=$(_countersign_words ""); else words=$(_countersign_words "\${COMP_WORDS[1]}"); fi
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o default -F _countersign countersign
`;
}

export function zshCompletion(words: Words): string {
  return `#compdef countersign
${NOTE}
_countersign_words() {
  case "$1" in
${cases(words)}  esac
}

_countersign() {
  local found=""
  ((CURRENT < 4)) || found=$(_countersign_words "$words[2] $words[3]")
  if [[ -z $found ]]; then
    if ((CURRENT == 2)); then found=$(_countersign_words ""); else found=$(_countersign_words "$words[2]"); fi
  fi
  compadd -- \${=found}
  ((CURRENT == 2)) || _files
}

_countersign "$@"
`;
}

export function fishCompletion(words: Words, summaries: ReadonlyMap<string, string>): string {
  const lines = [...words].flatMap(([at, all]) => {
    const path = at === "" ? [] : at.split(" ");
    return all.map((word) => {
      const summary = path.length === 0 ? summaries.get(word) ?? "" : "";
      const description = summary === "" ? "" : ` -d '${summary.replaceAll("'", "\\'")}'`;
      const what = word.startsWith("--") ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      return `complete -c countersign -n '${conditionOf(path)}' ${what}${description}\n`;
    });
  });
  return `${NOTE}\n${lines.join("")}`;
}

/** After the words of the path. */
function conditionOf(path: readonly string[]): string {
  if (path.length === 0) return "__fish_use_subcommand";
  return path.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
}
