// What was typed after a command's name: words, and options with or without a value.

/** `null` for an option that takes no value. */
export type Typed =
  | {
    readonly ok: true;
    readonly words: readonly string[];
    readonly options: ReadonlyMap<string, string | null>;
  }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads arguments. `--name value` and `--name=value` mean the same; after `--` everything is a word.
 *
 * @param known each option and whether it takes a value; `values`: it may stand several times, and commas join what it was given.
 */
export function readTyped(
  args: readonly string[],
  known: ReadonlyMap<string, "value" | "values" | "alone">,
): Typed {
  const words: string[] = [];
  const options = new Map<string, string | null>();
  const rest = [...args];
  while (rest.length > 0) {
    const arg = rest.shift() ?? "";
    if (arg === "--") {
      words.push(...rest.splice(0));
    } else if (!arg.startsWith("--")) {
      words.push(arg);
    } else {
      const at = arg.indexOf("=");
      const name = at < 0 ? arg : arg.slice(0, at);
      const takes = known.get(name);
      // The value of an unknown option may be a secret, so it is not quoted.
      if (takes === undefined) return { ok: false, problem: `there is no option ${JSON.stringify(name)}` };
      const before = options.get(name);
      if (before !== undefined && takes !== "values") return { ok: false, problem: `${name} stands twice` };
      const value = at < 0 ? (takes === "alone" ? null : rest.shift()) : arg.slice(at + 1);
      if (value === undefined) return { ok: false, problem: `${name} needs a value` };
      if (takes === "alone" && value !== null) return { ok: false, problem: `${name} takes no value` };
      options.set(name, typeof before === "string" ? `${before},${value}` : value);
    }
  }
  return { ok: true, words, options };
}

/** Whether help is asked for. */
export function asksHelp(args: readonly string[]): boolean {
  return args.includes("--help") || args.includes("-h");
}
