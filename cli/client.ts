// `deno task client`: makes the gateway forget what it learnt of a RADIUS client.

import { type AdminApi, AdminRefusal, pathName, valueOf } from "./admin_connection.ts";
import { quoted, resultText } from "./format_result.ts";
import { asksHelp, parseCommandArgs } from "./parse_args.ts";
import { type CommandOutcome, finish, runCommand, success } from "./run_admin_command.ts";

const USAGE =
  `What the gateway learnt of its RADIUS clients. Works beside a running server as well as without one.

  deno task client forget <name>   accepts unsigned requests of that client again

With message_authenticator = "auto", an address of a client that once sent a signed Access-Request must sign all further
ones. Use this command if the client was replaced by one that does not sign. It clears all addresses of the client; each
is learnt again with its next signed request.
Exit code 0: done; 1: refused, with the reason; 2: wrong use.
`;

/** The client that the arguments name, or what is wrong with them. */
export function planClient(args: readonly string[]): { readonly name: string } | string {
  const parsed = parseCommandArgs(args, {});
  if (!parsed.ok) return parsed.problem;
  const [verb, name, third] = parsed.words;
  if (verb === undefined) return "what should be done is missing";
  if (verb !== "forget") return `there is no ${JSON.stringify(verb)}`;
  if (name === undefined) return "a client's name is missing";
  if (third !== undefined) return "there is more than one name";
  return { name };
}

const MAX_NAMES = 20;

/** Makes the gateway forget which addresses of a client sign their requests. */
export async function forget(api: AdminApi, { name }: { name: string }): Promise<CommandOutcome> {
  const call = api.clients[":id"].signing.$delete({ param: { id: pathName(name, "client") } });
  const { hasSigned, isKnown } = await valueOf(call).catch(async (fault: unknown) => {
    const isUnknown = fault instanceof AdminRefusal && fault.code === "unknown_client";
    throw isUnknown
      ? new AdminRefusal(fault.code, `Cannot forget it: no client has that name. ${await known(api)}`)
      : fault;
  });
  if (!hasSigned) return success(resultText(`Nothing was learnt of client ${quoted(name)}.`));
  const did = `Client ${
    quoted(name)
  } may send unsigned requests again, from each address until that sends a signed one.`;
  return success(resultText(did, { notes: isKnown ? [] : ["There is no client of that name."] }));
}

async function known(api: AdminApi): Promise<string> {
  const { items } = await valueOf(api.clients.$get());
  if (items.length === 0) return "There are no clients yet.";
  const more = items.length - MAX_NAMES;
  const names = items.slice(0, MAX_NAMES).map(({ name }) => quoted(name)).join(", ");
  return `There are ${names}${more > 0 ? ` and ${more} more` : ""}.`;
}

if (import.meta.main) {
  const plan = planClient(Deno.args);
  if (asksHelp(Deno.args)) finish(success(USAGE));
  else if (typeof plan === "string") {
    finish({ out: "", err: `Cannot do that: ${plan}.\n\n${USAGE}`, exitCode: 2 });
  } else finish(await runCommand((api) => forget(api, plan)));
}
