// The desk's operations on credentials of the identity interface.

import type { Actor } from "../scim/ports.ts";
import type { AddProblem } from "../scim/http/credentials.ts";
import { type DeskAnswer, type DeskRefusal, done, refused } from "./desk_answer.ts";
import { INPUTS } from "./desk_inputs.ts";
import { type DeskDeps, operation } from "./desk_operation.ts";

const ACTOR: Actor = { name: "command", source: "" };
const MOST_NAMES = 20;

export const credentialOperations = {
  "scim_credential.add": operation({
    name: INPUTS.credentialName,
    targets: INPUTS.targets,
    access: INPUTS.credentialAccess,
    password: INPUTS.credentialPassword,
  }, add),
  "scim_credential.list": operation({}, list),
  "scim_credential.revoke": operation({ name: INPUTS.credentialName }, revoke),
};

interface Wanted {
  readonly name: string;
  readonly targets: string | null;
  readonly access: "read" | "write";
  readonly password: string | null;
}

const IN_SETTINGS =
  "it stands in the settings ([[scim.credential]]). Change it there, and restart the server.";

/** Why a credential is not made, by what the operator is told. Input that is not sound does not get this far. */
const ADD_PROBLEMS: Readonly<Record<AddProblem, { readonly reason: DeskRefusal; readonly why: string }>> = {
  bad_name: { reason: "bad_input", why: INPUTS.credentialName.problem },
  bad_password: { reason: "bad_input", why: INPUTS.credentialPassword.problem },
  no_targets: { reason: "bad_input", why: "it would be for no target" },
  in_settings: { reason: "in_settings", why: IN_SETTINGS },
  taken: { reason: "taken", why: "a credential has that name already. Revoke it first." },
  busy: { reason: "busy", why: "too many passwords are being checked. Try again." },
};

async function add(deps: DeskDeps, { name, targets, access, password }: Wanted): Promise<DeskAnswer> {
  const wanted = wantedTargets(targets, deps.targets.names);
  if (typeof wanted === "string") return refused("unknown_target", `Cannot make the credential: ${wanted}`);
  const given = { name, access, targets: wanted, ...password === null ? {} : { password } };
  const added = await deps.credentials.add(given, ACTOR);
  if (!added.ok) {
    const { reason, why } = ADD_PROBLEMS[added.reason];
    return refused(reason, `Cannot make the credential ${JSON.stringify(name)}: ${ended(why)}`);
  }
  const url = `${deps.config.http.publicUrl}/idm/scim/${wanted[0] ?? ""}/Users`;
  return done(`Credential ${JSON.stringify(name)} may ${access} ${quoted(wanted)}.`, {
    // The caller already knows a password that it sent.
    made: { name, password: password === null ? added.password : null, url },
  });
}

async function list({ credentials }: DeskDeps): Promise<DeskAnswer> {
  const all = await credentials.list();
  const count = all.length === 1 ? "one credential" : `${all.length === 0 ? "no" : all.length} credentials`;
  return done(`There ${all.length === 1 ? "is" : "are"} ${count} of the identity interface.`, {
    credentials: all,
  });
}

async function revoke({ credentials }: DeskDeps, { name }: { name: string }): Promise<DeskAnswer> {
  const outcome = await credentials.revoke(name, ACTOR);
  const title = JSON.stringify(name);
  if (outcome === "revoked") return done(`Credential ${title} is revoked.`);
  return outcome === "in_settings"
    ? refused("in_settings", `Cannot revoke ${title}: ${IN_SETTINGS}`)
    : refused("unknown_credential", `Cannot revoke ${title}: no credential has that name.`);
}

/** The targets that were named, or the only one there is; else what is wrong. */
function wantedTargets(given: string | null, known: readonly string[]): readonly string[] | string {
  if (given === null) {
    return known.length === 1
      ? known
      : `say for which targets, with --target. The settings have ${quoted(known)}.`;
  }
  const names = [...new Set(given.split(",").map((name) => name.trim()).filter((name) => name !== ""))];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    return `there is no target ${JSON.stringify(unknown)}. The settings have ${quoted(known)}.`;
  }
  return names.length > 0 ? names : "no target is named.";
}

function quoted(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  const shown = names.slice(0, MOST_NAMES).map((name) => JSON.stringify(name)).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown;
}

function ended(sentence: string): string {
  return sentence.endsWith(".") ? sentence : `${sentence}.`;
}
