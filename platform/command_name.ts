// What an administrator types before the name of a command. The launcher of the package sets it; in a checkout it is `deno task`.

/** How a checkout calls commands. */
const IN_CHECKOUT = "deno task";

/** For help texts and messages: `${COMMAND} pair ada`. */
export const COMMAND = Deno.env.get("COUNTERSIGN_COMMAND") || IN_CHECKOUT;

/** Spaces as long as {@link COMMAND}, for the lines below it in a help text. */
export const COMMAND_SPACE = " ".repeat(COMMAND.length);

/** {@link COMMAND}; npx does not put the runtime on the PATH, so that the plain command would not be found. */
export function commandInShell(): string {
  const isNpx = COMMAND === IN_CHECKOUT && Deno.env.get("npm_command") === "exec";
  return isNpx ? `npx --yes deno@${Deno.version.deno} task` : COMMAND;
}
