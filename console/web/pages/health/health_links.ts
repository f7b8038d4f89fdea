// Where each row of System status is changed: the setting, the client, the directory or the page that ends its problem.

import type { HealthPart } from "../../../api/targets/target_types.ts";
import { clientHref, isConfiguredClient } from "../../components/client_text.ts";
import { t } from "../../i18n/translate.ts";

interface HealthLink {
  readonly href: string;
  /** The text of the link. */
  readonly action: string;
}

type LinkOf = (part: HealthPart) => HealthLink;

/** @param anchor topic and key: `console#http.public_url` */
const setting = (anchor: string): HealthLink => ({
  href: `/settings/${anchor}`,
  action: t("common.open_setting"),
});
const page = (href: string): HealthLink => ({ href, action: t("common.open_page") });
const client = (name: string): HealthLink => ({
  href: clientHref(name),
  action: t("common.open_client"),
});
const directory = (name: string): HealthLink => ({
  href: `/targets/${encodeURIComponent(name)}`,
  action: t("common.open_directory"),
});

const PUBLIC_URL = "console#http.public_url";

const LINKS: Readonly<Record<HealthPart["kind"], LinkOf>> = {
  radius: () => setting("radius#radius.listen"),
  http: () => setting("console#http.listen"),
  certificate: ({ id }) =>
    setting(id === "certificate:radius" ? "radius#radius.tls_cert" : "console#http.tls_cert"),
  store: () => setting("system#store.kv"),
  node: () => page("/nodes"),
  backend: ({ id }) => directory(/^backend:([^/]*)/.exec(id)?.[1] ?? ""),
  first_factor: ({ client: name = "" }) =>
    isConfiguredClient(name) ? client(name) : setting("radius#radius.first_factor_server.address"),
  outbox: ({ name }) => directory(name),
  log_export: () => page("/log-export"),
  alerts: () => page("/alerts"),
  second_factor: ({ note }) =>
    setting(note === "loopback_url" ? PUBLIC_URL : "second_factor#second_factor.url"),
  push: ({ push }) =>
    push === "loopback" || push === "needs_https"
      ? setting(PUBLIC_URL)
      : push === "unused"
      ? page("/devices")
      : setting("second_factor#push.enabled"),
  push_host: () => setting("second_factor#push.hosts"),
  telephony: () => setting("telephony#telephony.url"),
  mail: ({ note }) => note === "mail_off" ? setting("mail#mail.host") : page("/mail"),
  passwords: () => page("/clients"),
  administrators: () => page("/access"),
  policy: () => page("/policies"),
  unsigned: ({ name }) => client(name),
  client_names: ({ name }) => client(name),
  shadow: () => page("/shadow"),
  sends: () => setting("limits#factors.sends.total_per_hour"),
  client_sends: ({ name }) => client(name),
  failures: () => setting("limits#factors.lockout.warn_failures_per_hour"),
  locks: () => setting("limits#factors.lockout.warn_locks_per_hour"),
};

/** The link of a row. A row of a newer server leads to the settings. */
export function healthLink(part: HealthPart): HealthLink {
  return (LINKS[part.kind] as LinkOf | undefined)?.(part) ?? setting("system");
}
