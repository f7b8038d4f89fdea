// Calls that read and change the settings of directories. A change waits for a sign-in or a recent factor.

import type {
  ConfigFault,
  TargetImpact,
  TargetSettingsAnswer,
  TargetSettingView,
  TargetTest,
} from "../../../api/target_settings/target_setting_routes.ts";
import { ApiFailure, escapeParams, failureText, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { t } from "../../i18n/translate.ts";
import { faultText } from "../settings/setting_problems.ts";
import { askAboutConflict } from "./directory_conflict.tsx";
import {
  CONNECTOR_SECRETS,
  type ConnectorTable,
  type DirectoryTable,
  mergeDirectories,
  withConnector,
} from "./directory_form.ts";

export type { TargetTest };

/** The settings of a directory, as the forms use them. */
export interface Directory {
  readonly name: string;
  readonly version: string;
  /** Without secrets. */
  readonly table: DirectoryTable;
  /** The settings file; `null`: there is none. */
  readonly file: string | null;
  /** Only the settings file can change it. */
  readonly locked: "file" | null;
  /** The stored secrets: `ldap.bind_password` */
  readonly secrets: readonly string[];
  readonly changed: { readonly by: string; readonly atMs: number } | null;
  /** Why the stored settings are not used. */
  readonly cause: ConfigFault | null;
  readonly impact: TargetImpact;
}

/** `auditId`: undoes the change; `null` if nothing changed. */
export type DirectorySaved =
  | { readonly kind: "saved"; readonly auditId: string | null }
  | { readonly kind: "faults"; readonly faults: readonly ConfigFault[] }
  /** Another administrator's change stays, or the form is edited again. Nothing was saved. */
  | { readonly kind: "theirs" | "edit" };

/** Shows what became of a save. "stay": the form stays open. */
export type OnDirectorySaved = (said: string, saved: DirectorySaved) => Promise<"stay" | void>;

type ApiSession = Pick<Models, "api" | "session">;
type Put = Models["api"]["target-settings"][":name"]["$put"];
type Remove = Models["api"]["target-settings"][":name"]["$delete"];
const nameOf = (name: string) => ({ param: escapeParams({ name }) });

export async function fetchDirectory({ api }: Pick<Models, "api">, name: string): Promise<Directory> {
  // The client's type of a table is that of any JSON.
  const answer = await take(api["target-settings"].$get()) as unknown as TargetSettingsAnswer;
  const item = answer.items.find((one) => one.name === name);
  if (item === undefined) throw new ApiFailure("unknown_target");
  return toDirectory(item, answer);
}

/** Of a secret, the API's table has only whether it is set. */
export function toDirectory(
  { table, ...view }: TargetSettingView,
  { version, file }: Pick<TargetSettingsAnswer, "version" | "file">,
): Directory {
  const { backends, ...rest } = table as DirectoryTable;
  const entries = Object.entries(backends ?? {});
  const secrets = entries.flatMap(([name, one]) =>
    Object.keys(one).filter((key) => CONNECTOR_SECRETS.has(key) && one[key] === true).map((key) =>
      `${name}.${key}`
    )
  );
  const plain = entries.map(([name, one]) =>
    [name, Object.fromEntries(Object.entries(one).filter(([key]) => !CONNECTOR_SECRETS.has(key)))] as const
  );
  return {
    ...view,
    ...{ version, file, secrets },
    table: entries.length === 0 ? rest : { ...rest, backends: Object.fromEntries(plain) },
  };
}

async function orFaults(saving: Promise<{ readonly auditId: string | null }>): Promise<DirectorySaved> {
  try {
    const { auditId } = await saving;
    return { kind: "saved", auditId };
  } catch (fault) {
    return toDirectorySaved(fault);
  }
}

/** @throws the fault, unless values were refused. A conflict names the other administrator. */
export function toDirectorySaved(fault: unknown): DirectorySaved {
  if (!(fault instanceof ApiFailure)) throw fault;
  if (fault.faults !== null) return { kind: "faults", faults: fault.faults };
  const [other] = fault.conflicts ?? [];
  if (other === undefined) throw fault;
  const { by: actor, atMs, isOwn = false } = other;
  throw new ApiFailure(fault.code, { message: fault.message, lastChange: { actor, atMs, isOwn } });
}

function put({ api, session }: ApiSession, name: string, json: { version: string; table: DirectoryTable }) {
  const request = { ...nameOf(name), json } as unknown as Parameters<Put>[0];
  // Without `check`, the answer is that of a save.
  const save = () => api["target-settings"][":name"].$put(request) as unknown as ReturnType<Remove>;
  return orFaults(session.whileSignedIn(() => take(save())));
}

const MAX_CONFLICTS = 20;

/** Saves a changed table. If another administrator changed the directory meanwhile, the administrator decides. */
export async function saveDirectory(
  models: ApiSession,
  { name, version, table: base }: Pick<Directory, "name" | "version" | "table">,
  table: DirectoryTable,
): Promise<DirectorySaved> {
  let tables = { base, mine: table, theirs: base };
  let json = { version, table };
  for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts++) {
    try {
      return await put(models, name, json);
    } catch (fault) {
      const lastChange = fault instanceof ApiFailure ? fault.lastChange : null;
      if (lastChange === null) throw fault;
      const theirs = await models.session.whileSignedIn(() => fetchDirectory(models, name));
      tables = { ...tables, theirs: theirs.table };
      const choice = await askAboutConflict(models.session, { ...tables, lastChange });
      if (choice !== "mine") return { kind: choice };
      json = { version: theirs.version, table: mergeDirectories(tables) };
    }
  }
  throw new ApiFailure("changed_meanwhile");
}

/** Creates a directory with an embedded store. */
export async function addDirectory(models: ApiSession, name: string): Promise<DirectorySaved> {
  const { version } = await take(models.api["target-settings"].$get());
  return await put(models, name, { version, table: { backends: { local: { kind: "store" } } } });
}

/** @param counts deletes the data now, with the numbers that the administrator saw; `null`: it stays for 30 days. */
export function removeDirectory(
  { api, session }: ApiSession,
  { name, version }: Directory,
  counts: { users: number; groups: number } | null,
): Promise<DirectorySaved> {
  const json = { version, ...(counts === null ? {} : { deleteData: counts }) };
  return orFaults(
    session.whileSignedIn(() => take(api["target-settings"][":name"].$delete({ ...nameOf(name), json }))),
  );
}

/** Connects with the values of a form, and reads the first users. */
export function testConnector(
  { api, session }: ApiSession,
  { name: directory, table }: Directory,
  { name, connector }: { name: string; connector: ConnectorTable },
): Promise<DirectorySaved | TargetTest> {
  const json = { table: withConnector(table, { name, connector }), backend: name };
  type Test = Models["api"]["target-settings"][":name"]["test"]["$post"];
  const request = { ...nameOf(directory), json } as unknown as Parameters<Test>[0];
  return session.whileSignedIn(() => take(api["target-settings"][":name"].test.$post(request))).catch(
    (fault: unknown) => {
      if (!(fault instanceof ApiFailure) || fault.faults === null) throw fault;
      return { kind: "faults", faults: fault.faults };
    },
  );
}

/** @throws ApiFailure with the problems of the values. */
export function requireDirectorySaved(saved: DirectorySaved): string | null {
  if (saved.kind === "saved") return saved.auditId;
  if (saved.kind !== "faults") return null;
  throw new ApiFailure("bad_settings", {
    message: saved.faults.map(faultText).join(" "),
  });
}

/** A message about a saved change, with Undo. `onUndone` loads the page again. */
export function showSaved(
  models: Pick<Models, "api" | "session" | "toasts">,
  text: string,
  { auditId, onUndone }: { auditId: string | null; onUndone: () => void },
): void {
  const { api, session, toasts } = models;
  const undo = async (auditId: string) => {
    try {
      await session.whileSignedIn(() => take(api.settings.undo.$post({ json: { auditId } })));
      toasts.show(t("common.undone"), { tone: "ok" });
      onUndone();
    } catch (fault) {
      toasts.show(`${t("common.not_undone")} ${failureText(fault)}`, { tone: "bad" });
    }
  };
  toasts.show(text, { tone: "ok", ...(auditId === null ? {} : { undo: () => undo(auditId) }) });
}
