// The calls of the log export page, and the state of a destination.

import type { DestinationRow } from "../../../api/log_export/log_export_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { t } from "../../i18n/translate.ts";

const by = (name: string) => ({ param: escapeParams({ name }) });

type NewDestinationBody = Parameters<Models["api"]["log-export"]["$post"]>[0]["json"];
type DestinationChangeBody = Parameters<Models["api"]["log-export"][":name"]["$patch"]>[0]["json"];

export const fetchDestinations = ({ api }: Models) => take(api["log-export"].$get());

export const addDestination = ({ api, session }: Models, json: NewDestinationBody) =>
  session.whileSignedIn(() => take(api["log-export"].$post({ json })));

export const changeDestination = ({ api, session }: Models, name: string, json: DestinationChangeBody) =>
  session.whileSignedIn(() => take(api["log-export"][":name"].$patch({ ...by(name), json })));

export const pauseDestination = ({ api, session }: Models, name: string, paused: boolean) =>
  session.whileSignedIn(() =>
    take(api["log-export"][":name"].pause.$post({ ...by(name), json: { paused } }))
  );

export const renewDestinationSecret = (
  { api, session }: Models,
  { name, version }: Pick<DestinationRow, "name" | "version">,
) =>
  session.whileSignedIn(() =>
    take(api["log-export"][":name"].secret.$post({ ...by(name), json: { version } }))
  );

export const testDestination = ({ api, session }: Models, name: string) =>
  session.whileSignedIn(() => take(api["log-export"][":name"].test.$post({ ...by(name), json: {} })));

export const removeDestination = ({ api, session }: Models, name: string) =>
  session.whileSignedIn(() => take(api["log-export"][":name"].$delete(by(name))));

/** Whether a destination works. */
export function destinationState({ settings, problem, lastSentMs }: DestinationRow) {
  if (settings.isPaused) return { tone: "wait", shape: "pause", label: t("common.paused") } as const;
  if (problem !== null) {
    return { tone: "bad", shape: "cross", label: t(`logexport.problem_${problem.code}`) } as const;
  }
  return lastSentMs === null
    ? { tone: "idle", shape: "ring", label: t("common.nothing_sent") } as const
    : { tone: "ok", shape: "check", label: t("logexport.state_ok") } as const;
}
