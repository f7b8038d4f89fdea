// Reads the arguments of a command with `node:util`, strictly: no unknown option, and none twice that takes one value.

import { parseArgs, type ParseArgsConfig } from "node:util";

type ArgOptions = NonNullable<ParseArgsConfig["options"]>;

/** The values of the options and the other words, or the problem. A problem never quotes a value: it may be a secret. */
export function parseCommandArgs<const T extends ArgOptions>(args: readonly string[], options: T) {
  try {
    const { values, positionals: words, tokens } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      tokens: true,
    });
    const given = tokens.flatMap((token) =>
      token.kind === "option" && options[token.name]?.multiple !== true ? [token.rawName] : []
    );
    const twice = given.find((name, at) => given.indexOf(name) < at);
    if (twice !== undefined) return { ok: false, problem: `option '${twice}' is given twice` } as const;
    return { ok: true, values, words } as const;
  } catch (fault) {
    if (!(fault instanceof TypeError)) throw fault;
    // The first sentence says what is wrong; the others are hints.
    const [problem = ""] = fault.message.split(/\.\s/);
    return { ok: false, problem: `${problem.charAt(0).toLowerCase()}${problem.slice(1)}` } as const;
  }
}

/** Whether help is asked for. */
export function asksHelp(args: readonly string[]): boolean {
  return args.includes("--help") || args.includes("-h");
}
