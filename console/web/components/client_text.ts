// The name of a RADIUS client in lists of sign-ins and sessions.

import { t } from "../i18n/translate.ts";

/** The name that the gateway gives to every client while none is configured. */
const ANY_CLIENT = "any";

/** Whether the client has a page. */
export function isConfiguredClient(name: string): boolean {
  return name !== ANY_CLIENT && name !== "";
}

/** Its page, or the list of clients. */
export function clientHref(name: string): string {
  return isConfiguredClient(name) ? `/clients/${encodeURIComponent(name)}` : "/clients";
}

export function clientText(name: string): string {
  return name === ANY_CLIENT ? t("common.any_client") : name;
}
