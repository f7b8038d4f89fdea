// What `deno task console-bars` is asked to measure.

export interface BarsOptions {
  /** Only what the built files weigh. */
  readonly bytes: boolean;
  /** Besides, on a slow machine behind a slow line. */
  readonly slow: boolean;
  readonly rounds: number;
  /** Of the live load, in each round. */
  readonly seconds: number;
}

const FLAGS: ReadonlySet<string> = new Set(["--bytes", "--slow"]);
/** What each number may be at most, and how many of the option's unit it stands for. */
const NUMBERS = {
  "--rounds": { most: 20, times: 1 },
  "--seconds": { most: 3600, times: 1 },
  "--minutes": { most: 60, times: 60 },
} as const;

/** `null`: to be told how it is used. */
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
