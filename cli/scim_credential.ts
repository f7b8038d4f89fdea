// `deno task scim-credential`: creates, lists and revokes SCIM credentials.

import { COMMAND } from "../platform/command_name.ts";
import type { Config } from "../platform/config/config.ts";
import { type AdminApi, AdminRefusal, apiValue, pathName, rewordRefusal } from "./admin_connection.ts";
import {
  type CommandOutcome,
  counted,
  credentialTable,
  newCredentialText,
  quoted,
  resultText,
} from "./format_result.ts";
import { parseCommandArgs, readSecretLine, writeNotice } from "./terminal.ts";
import {
  adminCommand,
  checkTarget,
  refusal,
  runCommand,
  runMain,
  success,
  targetNames,
} from "./run_admin_command.ts";

const USAGE = `Create, list and revoke SCIM credentials for HTTP Basic authentication.

Usage:
  ${COMMAND} scim-credential add <name> [options]  Create a credential and print its password once.
  ${COMMAND} scim-credential list                  List all credentials, including those of the settings.
  ${COMMAND} scim-credential revoke <name>         Revoke a credential immediately.

Options of add:
  --target <target>    Allow this target. Can be repeated. Required if the settings define several targets.
  --access read|write  Set the permission (default: read).
  --password-stdin     Read the password from standard input instead of generating one.

A name has at most 64 letters A to Z, digits, dots, dashes and underscores.
To change a credential of the settings, edit the settings file.
`;

const OPTIONS = {
  target: { type: "string", multiple: true },
  access: { type: "string" },
  "password-stdin": { type: "boolean" },
} as const;

export type CredentialPlan =
  | { readonly kind: "list" }
  | { readonly kind: "revoke"; readonly name: string }
  | {
    readonly kind: "add";
    readonly name: string;
    /** Separated by commas. `null` selects the only target of the settings. */
    readonly targets: string | null;
    readonly access: "read" | "write";
    /** Reads the password from standard input. */
    readonly readsPassword: boolean;
  };

/** Reads the arguments. A text is the problem with them. */
export function planScimCredential(args: readonly string[]): CredentialPlan | string {
  const parsed = parseCommandArgs(args, OPTIONS);
  if (!parsed.ok) return parsed.problem;
  const { words: [verb, name, third], values } = parsed;
  if (verb === undefined) return "the action is missing";
  const given = Object.keys(values).map((option) => `--${option}`);
  if (verb !== "add" && given.length > 0) return `${given.join(" and ")} can only be used with add`;
  if (verb === "list") return name === undefined ? { kind: "list" } : "list takes no name";
  if (verb !== "add" && verb !== "revoke") return `there is no action ${quoted(verb)}`;
  if (name === undefined) return "the name of the credential is missing";
  if (third !== undefined) return "there is more than one name";
  if (verb === "revoke") return { kind: "revoke", name };
  const { access = "read" } = values;
  if (access !== "read" && access !== "write") return "--access must be read or write";
  return {
    kind: "add",
    name,
    targets: values.target?.join(",") ?? null,
    access,
    readsPassword: values["password-stdin"] === true,
  };
}

async function run(plan: CredentialPlan): Promise<CommandOutcome> {
  if (plan.kind === "list") return await runCommand(list);
  if (plan.kind === "revoke") return await runCommand((api) => revoke(api, plan.name));
  let password: string | null = null;
  if (plan.readsPassword) {
    password = await readSecretLine(Deno.stdin, writeNotice, { label: "Password" });
    if (password === null || password === "") {
      return refusal("Cannot create the credential: no password was entered.\n");
    }
  }
  return await runCommand((api, config) => add(api, config, { ...plan, password }), {
    targets: (plan.targets ?? "").split(",").map((name) => name.trim()).filter((name) => name !== ""),
  });
}

type AddPlan = Extract<CredentialPlan, { kind: "add" }> & { readonly password: string | null };

async function add(
  api: AdminApi,
  config: Config,
  { name, access, password, targets }: AddPlan,
): Promise<CommandOutcome> {
  const wanted = wantedTargets(targets, config);
  const given = { name, access, targets: wanted, ...password === null ? {} : { password } };
  const made = await rewordRefusal(
    apiValue(api.credentials.$post({ json: given })),
    ({ message }) => `Cannot create the credential ${quoted(name)}: ${message}`,
  );
  const did = `Created the credential ${quoted(name)} with ${access} access to ${targetNames(wanted)}.`;
  // The caller already knows a password from standard input.
  return success(
    resultText(did, {
      blocks: [newCredentialText({ ...made, password: password === null ? made.password : null })],
    }),
  );
}

async function list(api: AdminApi): Promise<CommandOutcome> {
  const { items } = await apiValue(api.credentials.$get());
  if (items.length === 0) return success(resultText("There are no credentials."));
  return success(resultText(`${counted(items.length, "credential")}.`, { blocks: [credentialTable(items)] }));
}

async function revoke(api: AdminApi, name: string): Promise<CommandOutcome> {
  const call = api.credentials[":id"].$delete({ param: { id: pathName(name, "credential") } });
  await rewordRefusal(
    apiValue(call),
    ({ message }) => `Cannot revoke the credential ${quoted(name)}: ${message}`,
  );
  return success(resultText(`Revoked the credential ${quoted(name)}.`));
}

/** The targets of the arguments. Without any, the only target of the settings. */
function wantedTargets(given: string | null, config: Config): string[] {
  if (given === null) {
    const names = config.targets.map(({ name }) => name);
    if (names.length === 1) return names;
    throw new AdminRefusal(
      "unknown_target",
      `Cannot create the credential: choose its targets with --target. The settings define ${
        targetNames(names)
      }.`,
    );
  }
  const names = [...new Set(given.split(",").map((name) => name.trim()).filter((name) => name !== ""))];
  if (names.length === 0) {
    throw new AdminRefusal("unknown_target", "Cannot create the credential: --target must name a target.");
  }
  for (const name of names) checkTarget(name, config);
  return names;
}

export const scimCredentialCommand = adminCommand({ usage: USAGE, plan: planScimCredential, run });

if (import.meta.main) await runMain(scimCredentialCommand);
