// The options of `deno task console-bars`. Apart from the measurements, because their browser needs all permissions.

export interface BarsOptions {
  /** Only the size of the built files. */
  readonly bytes: boolean;
  /** Also on a slow machine with a slow line. */
  readonly slow: boolean;
  readonly rounds: number;
  /** The duration of the live load, in each round. */
  readonly seconds: number;
}

const FLAGS: ReadonlySet<string> = new Set(["--bytes", "--slow"]);
/** The maximum of each number, and its factor to the option's unit. */
const NUMBERS = {
  "--rounds": { most: 20, times: 1 },
  "--seconds": { most: 3600, times: 1 },
  "--minutes": { most: 60, times: 60 },
} as const;

/** `null`: show the usage. */
export function readOptions(args: readonly string[]): BarsOptions | null {
  const flags = new Set<string>();
  const numbers = new Map<string, number>();
  for (let at = 0; at < args.length; at += 1) {
    const name = args[at] ?? "";
    if (FLAGS.has(name)) flags.add(name);
    else if (name in NUMBERS) {
      const { most, times } = NUMBERS[name as keyof typeof NUMBERS];
      const value = Number(args[at += 1] ?? "");
      if (!(Number.isInteger(value) && value >= 1 && value <= most)) return null;
      numbers.set(name, value * times);
    } else return null;
  }
  return {
    bytes: flags.has("--bytes"),
    slow: flags.has("--slow"),
    rounds: numbers.get("--rounds") ?? 3,
    seconds: numbers.get("--minutes") ?? numbers.get("--seconds") ?? 10,
  };
}
