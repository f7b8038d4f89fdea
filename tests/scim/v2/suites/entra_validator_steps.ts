// Steps with the shapes of requests that Microsoft's SCIM validator sends; see entra_validator_rows.ts.

import { type Step } from "./suite_row.ts";
import { ENTERPRISE, get, GROUP, USER } from "./suite_steps.ts";

export const MANDATORY = "Entra SCIM validator, mandatory";

export const PREVIEW = "Entra SCIM validator, preview";

/** The whole user that the validator sends; `primary` of roles is a text there. */
export function wholeUser(name: string, more: Readonly<Record<string, unknown>> = {}): Step {
  return {
    send: "POST /Users",
    body: {
      ...{
        userName: `{row}_${name}@bauch.co.uk`,
        active: true,
        displayName: "BDFAIMDWZXYA",
        title: "HZEYUQROKTXF",
      },
      emails: [{ type: "work", value: `{row}${name}@hermannokuneva.ca`, primary: true }],
      preferredLanguage: "cy-GB",
      name: {
        ...{ givenName: "Sadye", familyName: "Keaton", formatted: "Matt", middleName: "Marcelo" },
        ...{ honorificPrefix: "Caleigh", honorificSuffix: "Catalina" },
      },
      addresses: [{
        ...{ type: "work", formatted: "GWRTLPBWYNPV", streetAddress: "845 Anastacio Radial", primary: true },
        ...{ locality: "GIZRDTXXWJZC", region: "JSKIBHIRPFHK", postalCode: "zl48 3xh", country: "Belize" },
      }],
      phoneNumbers: [
        { type: "work", value: "56-357-7743", primary: true },
        { type: "mobile", value: "56-357-7744" },
        { type: "fax", value: "56-357-7745" },
      ],
      [ENTERPRISE]: {
        ...{ employeeNumber: "MHNFAVCGBDOI", department: "QKOBKGQRRYRF", costCenter: "XDQMRXTSMYGO" },
        ...{ organization: "ZNFWKUXHZJXT", division: "PGTPPIHJVFQI", manager: { value: "GZFDHGRKQLCG" } },
      },
      roles: [{ primary: "True", display: "RAJBJMKHJSNI", value: "OGCIACGFVVRR", type: "IJAQSLXCMJPC" }],
      ...{ userType: "QVEPKUEJOWHA", nickName: "SBLQUBHCVMJM", locale: "HSKSTDYWUUPI" },
      ...{ timezone: "Asia/Tehran", profileUrl: "https://example.com/BEYLEXIDDWQY" },
      externalId: `{row}-${name}`,
      schemas: [USER, ENTERPRISE],
      ...more,
    },
    status: 201,
    save: { [name]: "id" },
  };
}

export function newEntraGroup(name: string, status = 201): Step {
  return {
    send: "POST /Groups",
    body: { displayName: `{row}-${name}`, externalId: `{row}-ext-${name}`, schemas: [GROUP] },
    status,
    ...(status === 201 ? { save: { [name]: "id" } } : { scimType: "uniqueness" }),
  };
}

export const filtered = (path: string, filter: string, total: number, more: Partial<Step> = {}): Step =>
  get(path, { totalResults: total }, { query: { filter }, ...more });
