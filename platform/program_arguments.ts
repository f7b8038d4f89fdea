// The command line of `deno task start`: it takes no arguments but --help.

const USAGE = `Run the gateway.

  deno task start

Settings: the file that COUNTERSIGN_CONFIG names, else countersign.toml in the working directory, else defaults.
COUNTERSIGN_MASTER_KEY: the master key (64 hexadecimal digits) instead of <data_dir>/master.key.
COUNTERSIGN_READY_FILE: written once everything listens; JSON with the addresses.

deno task check-config checks the settings; docs/operating.md says how to run it as a service.
`;
/** Ends the program if there are arguments: `--help` prints the usage (exit 0), anything else is an error (exit 2). */
export function answerArguments(args: readonly string[] = Deno.args): void {
  if (args.length === 0) return;
  const asked = args.includes("--help") || args.includes("-h");
  (asked ? Deno.stdout : Deno.stderr).writeSync(
    new TextEncoder().encode(asked ? USAGE : `Cannot use "${args.join(" ")}".\n\n${USAGE}`),
  );
  Deno.exit(asked ? 0 : 2);
}
