// The calls of the Alerts page.

import type { AlertList, AlertRow, ReceiverRow } from "../../../api/alerts/alert_types.ts";
import { escapeParams, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";

const by = (name: string) => ({ param: escapeParams({ name }) });

type NewReceiverBody = Parameters<Models["api"]["alerts"]["receivers"]["$post"]>[0]["json"];
type ReceiverChangeBody = Parameters<Models["api"]["alerts"]["receivers"][":name"]["$patch"]>[0]["json"];

export const fetchAlerts = ({ api }: Models, after = ""): Promise<AlertList> =>
  take<AlertList>(api.alerts.$get({ query: { after } }));

export const acknowledgeAlertRow = (
  { api, session }: Models,
  { id, count }: Pick<AlertRow, "id" | "count">,
) =>
  session.whileSignedIn(() =>
    take(api.alerts[":id"].acknowledge.$post({ param: escapeParams({ id }), json: { count } }))
  );

export const fetchReceivers = ({ api }: Models) => take(api.alerts.receivers.$get());

export const addReceiver = ({ api, session }: Models, json: NewReceiverBody) =>
  session.whileSignedIn(() => take(api.alerts.receivers.$post({ json })));

export const changeReceiver = ({ api, session }: Models, name: string, json: ReceiverChangeBody) =>
  session.whileSignedIn(() => take(api.alerts.receivers[":name"].$patch({ ...by(name), json })));

export const pauseReceiver = ({ api, session }: Models, name: string, paused: boolean) =>
  session.whileSignedIn(() =>
    take(api.alerts.receivers[":name"].pause.$post({ ...by(name), json: { paused } }))
  );

export const renewReceiverSecret = (
  { api, session }: Models,
  { name, version }: Pick<ReceiverRow, "name" | "version">,
) =>
  session.whileSignedIn(() =>
    take(api.alerts.receivers[":name"].secret.$post({ ...by(name), json: { version } }))
  );

export const testReceiver = ({ api, session }: Models, name: string) =>
  session.whileSignedIn(() => take(api.alerts.receivers[":name"].test.$post({ ...by(name), json: {} })));

export const removeReceiver = ({ api, session }: Models, name: string) =>
  session.whileSignedIn(() => take(api.alerts.receivers[":name"].$delete(by(name))));
