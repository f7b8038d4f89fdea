// `deno task client`: makes the gateway forget which addresses of a RADIUS client sign their requests.

import { COMMAND } from "../platform/command_name.ts";
import { type AdminApi, apiValue, pathName, rewordRefusal } from "./admin_connection.ts";
import { type CommandOutcome, firstOf, quoted, resultText } from "./format_result.ts";
import { parseCommandArgs } from "./terminal.ts";
import { adminCommand, runCommand, runMain, success } from "./run_admin_command.ts";

const USAGE = `Accept unsigned requests of a RADIUS client again.

Usage:
  ${COMMAND} client forget <name>  Forget which addresses of the client sign their requests.

With message_authenticator = "auto", an address that sent a signed Access-Request must sign all later requests.
Run this command after you replace a client with one that does not sign. It applies to all addresses of the client.
The next signed request of an address makes signing required again.
`;

/** Reads the name of the client from the arguments. A text is the problem with them. */
export function planClient(args: readonly string[]): { readonly name: string } | string {
  const parsed = parseCommandArgs(args, {});
  if (!parsed.ok) return parsed.problem;
  const [verb, name, third] = parsed.words;
  if (verb === undefined) return "the action is missing";
  if (verb !== "forget") return `there is no action ${quoted(verb)}`;
  if (name === undefined) return "the client is missing";
  if (third !== undefined) return "there is more than one client";
  return { name };
}

/** Makes the gateway forget which addresses of a client sign their requests. */
export async function forget(api: AdminApi, { name }: { name: string }): Promise<CommandOutcome> {
  const call = api.clients[":id"].signing.$delete({ param: { id: pathName(name, "client") } });
  const { hasSigned, isKnown } = await rewordRefusal(
    apiValue(call),
    async ({ code, message }) =>
      code === "unknown_client" ? `There is no client ${quoted(name)}. ${await clientNames(api)}` : message,
  );
  if (!hasSigned) {
    return success(resultText(`Client ${quoted(name)} has no address that must sign requests.`));
  }
  const did = `Client ${
    quoted(name)
  } can send unsigned requests again. An address that signs once must sign again.`;
  return success(resultText(did, { notes: isKnown ? [] : ["There is no client with this name."] }));
}

async function clientNames(api: AdminApi): Promise<string> {
  const { items } = await apiValue(api.clients.$get());
  return items.length === 0
    ? "There are no clients yet."
    : `The clients are ${firstOf(items.map(({ name }) => quoted(name)), 20)}.`;
}

export const clientCommand = adminCommand({
  usage: USAGE,
  plan: planClient,
  run: (plan) => runCommand((api) => forget(api, plan)),
});

if (import.meta.main) await runMain(clientCommand);
