// `deno task scim-credential`: makes, lists and ends credentials of the identity interface, beside a running server as well as without one.

import type { Config } from "../platform/config/config.ts";
import { type AdminApi, AdminRefusal, pathName, valueOf } from "./admin_connection.ts";
import { credentialTable, madeText, quoted, resultText } from "./format_result.ts";
import { asksHelp, parseCommandArgs } from "./parse_args.ts";
import { type CommandOutcome, finish, runCommand, success } from "./run_admin_command.ts";
import { checkTarget, namesText } from "./target_names.ts";
import { readSecretLine } from "./read_secret.ts";

const USAGE =
  `Credentials of the identity interface (SCIM), for HTTP Basic. Works beside a running server as well as without one.

  deno task scim-credential add <name>      makes one, and prints its password, once
                [--target <t>]...           for these targets; may be left out where the settings have one target
                [--access read|write]       what it may do (read)
                [--password-stdin]          takes the password from standard input instead of generating one
  deno task scim-credential list            all of them, also those of the settings
  deno task scim-credential revoke <name>   ends one, at once

A name has letters A to Z, digits, dot, dash and underscore, 64 at most. Those of the settings are changed there.
Exit code 0: done; 1: refused, with the reason; 2: wrong use.
`;

const OPTIONS = {
  target: { type: "string", multiple: true },
  access: { type: "string" },
  "password-stdin": { type: "boolean" },
} as const;

/** What the arguments ask for. `readsPassword`: the password comes from standard input. */
export type CredentialPlan =
  | { readonly kind: "help" }
  | { readonly kind: "wrong"; readonly problem: string }
  | { readonly kind: "list" }
  | { readonly kind: "revoke"; readonly name: string }
  | {
    readonly kind: "add";
    readonly name: string;
    /** Names with commas between them; `null`: the only target of the settings. */
    readonly targets: string | null;
    readonly access: "read" | "write";
    readonly readsPassword: boolean;
  };

/** Reads the arguments of `deno task scim-credential`. */
export function planScimCredential(args: readonly string[]): CredentialPlan {
  if (asksHelp(args)) return { kind: "help" };
  const parsed = parseCommandArgs(args, OPTIONS);
  if (!parsed.ok) return wrong(parsed.problem);
  const { words: [verb, name, third], values } = parsed;
  if (verb === undefined) return wrong("what should be done is missing");
  const given = Object.keys(values).map((option) => `--${option}`);
  if (verb !== "add" && given.length > 0) return wrong(`${given.join(" and ")} belongs to add`);
  if (verb === "list") {
    return name === undefined ? { kind: "list" } : wrong("list takes no name");
  }
  if (verb !== "add" && verb !== "revoke") return wrong(`there is no ${JSON.stringify(verb)}`);
  if (name === undefined) return wrong("a credential's name is missing");
  if (third !== undefined) return wrong("there is more than one name");
  if (verb === "revoke") return { kind: "revoke", name };
  const { access = "read" } = values;
  if (access !== "read" && access !== "write") return wrong("--access is read or write");
  return {
    kind: "add",
    name,
    targets: values.target?.join(",") ?? null,
    access,
    readsPassword: values["password-stdin"] === true,
  };
}

function wrong(problem: string): CredentialPlan {
  return { kind: "wrong", problem };
}

async function run(args: readonly string[]): Promise<CommandOutcome> {
  const plan = planScimCredential(args);
  if (plan.kind === "help") return success(USAGE);
  if (plan.kind === "wrong") {
    return { out: "", err: `Cannot do that: ${plan.problem}.\n\n${USAGE}`, exitCode: 2 };
  }
  if (plan.kind === "list") return await runCommand(list);
  if (plan.kind === "revoke") return await runCommand((api) => revoke(api, plan.name));
  if (!plan.readsPassword) {
    return await runCommand((api, config) => add(api, config, { ...plan, password: null }));
  }
  const encoder = new TextEncoder();
  const password = await readSecretLine(
    Deno.stdin,
    (text) => void Deno.stderr.writeSync(encoder.encode(text)),
    { asksFor: "Password" },
  );
  if (password === null || password === "") {
    return { out: "", err: "Cannot make the credential: no password was given.\n", exitCode: 1 };
  }
  return await runCommand((api, config) => add(api, config, { ...plan, password }));
}

type AddPlan = Extract<CredentialPlan, { kind: "add" }> & { readonly password: string | null };

async function add(
  api: AdminApi,
  config: Config,
  { name, access, password, targets }: AddPlan,
): Promise<CommandOutcome> {
  const wanted = wantedTargets(targets, config);
  const given = { name, access, targets: wanted, ...password === null ? {} : { password } };
  const made = await refusedAs(
    `Cannot make the credential ${quoted(name)}`,
    valueOf(api.credentials.$post({ json: given })),
  );
  const did = `Credential ${quoted(name)} may ${access} ${namesText(wanted.map((one) => ({ name: one })))}.`;
  // The caller already knows a password that it sent.
  return success(
    resultText(did, { blocks: [madeText({ ...made, password: password === null ? made.password : null })] }),
  );
}

async function list(api: AdminApi): Promise<CommandOutcome> {
  const { items } = await valueOf(api.credentials.$get());
  const count = items.length === 1
    ? "one credential"
    : `${items.length === 0 ? "no" : items.length} credentials`;
  const did = `There ${items.length === 1 ? "is" : "are"} ${count} of the identity interface.`;
  return success(resultText(did, { blocks: items.length === 0 ? [] : [credentialTable(items)] }));
}

async function revoke(api: AdminApi, name: string): Promise<CommandOutcome> {
  const call = api.credentials[":id"].$delete({ param: { id: pathName(name, "credential") } });
  await refusedAs(`Cannot revoke ${quoted(name)}`, valueOf(call));
  return success(resultText(`Credential ${quoted(name)} is revoked.`));
}

/** The targets that were named, or the only one there is. */
function wantedTargets(given: string | null, config: Config): string[] {
  const known = config.targets;
  if (given === null) {
    const [only, second] = known;
    if (only !== undefined && second === undefined) return [only.name];
    throw new AdminRefusal(
      "unknown_target",
      `Cannot make the credential: say for which targets, with --target. The settings have ${
        namesText(known)
      }.`,
    );
  }
  const names = [...new Set(given.split(",").map((name) => name.trim()).filter((name) => name !== ""))];
  if (names.length === 0) {
    throw new AdminRefusal("unknown_target", "Cannot make the credential: no target is named.");
  }
  for (const name of names) checkTarget(name, config);
  return names;
}

/** The value, or the refusal with what was tried before its sentence. */
async function refusedAs<T>(tried: string, value: Promise<T>): Promise<T> {
  return await value.catch((fault: unknown) => {
    throw fault instanceof AdminRefusal ? new AdminRefusal(fault.code, `${tried}: ${fault.message}`) : fault;
  });
}

if (import.meta.main) finish(await run(Deno.args));
