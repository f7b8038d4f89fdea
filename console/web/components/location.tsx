// Where an address is: the name of the country, and the network.

import type { IpLocation } from "../../api/history/history.ts";
import { locale, t } from "../i18n/translate.ts";

/** The name of a country in the language of the page; the code itself if the browser does not know it. */
export function countryName(code: string): string {
  if (!/^[A-Z]{2}$/.test(code)) return t("common.country_unknown");
  return new Intl.DisplayNames([locale()], { type: "region", fallback: "code" }).of(code) ?? code;
}

/** "Germany · AS64500 Example Net". */
export function locationText({ country, asn, network }: IpLocation): string {
  const net = asn === null ? "" : `AS${asn} ${network ?? ""}`.trim();
  return [country === null ? "" : countryName(country), net].filter((part) => part !== "").join(" · ");
}
