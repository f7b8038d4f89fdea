// Calls of the settings, without the model of the page: the first steps use them, too. A change waits for a sign-in or a recent factor.

import type { SettingsAnswer, SettingTest } from "../../../api/settings/setting_routes.ts";
import { ApiFailure, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import type { CheckedSettings, FormChanges, SettingProblem } from "./setting_form.ts";

/** A setting that another administrator changed since the draft began. */
export interface SettingsConflict {
  readonly key: string;
  readonly by: string;
  readonly atMs: number;
  /** The same administrator, in another tab. */
  readonly isOwn?: boolean;
}

export type SaveAnswer =
  | { readonly kind: "saved"; readonly state: SettingsAnswer; readonly auditId: string | null }
  | { readonly kind: "conflict"; readonly conflicts: readonly SettingsConflict[] }
  | { readonly kind: "faults"; readonly faults: readonly SettingProblem[] };

/** What the model of the page needs. */
export interface SettingsCalls {
  read(): Promise<SettingsAnswer>;
  check(changes: FormChanges): Promise<CheckedSettings>;
  save(json: { version: string; changes: FormChanges }): Promise<SaveAnswer>;
  undo(auditId: string): Promise<SettingsAnswer>;
}

export type ServiceName = "second_factor" | "telephony" | "mail" | "oidc";

type ApiSession = Pick<Models, "api" | "session">;
type SaveRequest = Parameters<Models["api"]["settings"]["$put"]>[0]["json"];
type TestRequest = Parameters<Models["api"]["settings"]["test"]["oidc"]["$post"]>[0]["json"];

/** The caller waits for a sign-in or a recent factor. */
export const settingCalls = ({ api: { settings } }: Pick<Models, "api">): SettingsCalls => ({
  read: () => take(settings.$get()),
  check: (changes) => take(settings.check.$post({ json: { changes } as SaveRequest })),
  undo: (auditId) => take(settings.undo.$post({ json: { auditId } })),
  async save(json) {
    try {
      const state = await take(settings.$put({ json: json as SaveRequest }));
      return { kind: "saved", state, auditId: state.auditId };
    } catch (fault) {
      const refused = toSaveAnswer(fault);
      if (refused === null) throw fault;
      return refused;
    }
  },
});

/** The outcome of a save that the server refused for its values; `null` for other failures. */
export function toSaveAnswer(fault: unknown): SaveAnswer | null {
  if (!(fault instanceof ApiFailure)) return null;
  if (fault.conflicts !== null) return { kind: "conflict", conflicts: fault.conflicts };
  return fault.faults === null ? null : { kind: "faults", faults: fault.faults };
}

export const testService = ({ api, session }: ApiSession, service: ServiceName, json: TestRequest) =>
  session.whileSignedIn((): Promise<SettingTest> => take(api.settings.test[service].$post({ json })));
