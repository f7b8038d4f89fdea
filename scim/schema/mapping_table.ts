// The document's default mapping between SCIM attributes and front-end attributes, spelled as the document spells it. Attributes with
// identical names on both sides are not in it.

import type { MappingRow } from "./resource.ts";

/** `name[].sub`: each entry of a multi-valued attribute. */
export const DEFAULT_USER_MAPPING = [
  { scim: "id", frontEnd: "userName" },
  { scim: "externalId", frontEnd: "userName" },
  { scim: "name.familyName", frontEnd: "familyName" },
  { scim: "name.givenName", frontEnd: "givenName" },
  { scim: "name.formatted", frontEnd: "formatted" },
  { scim: "name.middleName", frontEnd: "middleName" },
  { scim: "name.honorificPrefix", frontEnd: "honorificPrefix" },
  { scim: "name.honorificSuffix", frontEnd: "honirificSuffix" },
  { scim: "emails[].value", frontEnd: "mail" },
  { scim: "phoneNumbers[].value", frontEnd: "phoneNumber" },
  { scim: "imgs[].value", frontEnd: "img" },
  { scim: "photos[].value", frontEnd: "photo" },
  { scim: "addresses[].streetAddress", frontEnd: "streetAddress" },
  { scim: "addresses[].locality", frontEnd: "locality" },
  { scim: "addresses[].region", frontEnd: "region" },
  { scim: "addresses[].postralCode", frontEnd: "postralCode" },
  { scim: "addresses[].country", frontEnd: "country" },
  { scim: "entitlements[].value", frontEnd: "entitlement" },
  { scim: "roles[].value", frontEnd: "role" },
  { scim: "x509Certificates[].value", frontEnd: "x509Certificate" },
  { scim: "manager.displayName", frontEnd: "manager" },
] as const satisfies readonly MappingRow[];

export const DEFAULT_GROUP_MAPPING = [
  { scim: "id", frontEnd: "groupName" },
  { scim: "displayName", frontEnd: "groupName" },
  { scim: "externalId", frontEnd: "groupName" },
  { scim: "members[].display", frontEnd: "member" },
] as const satisfies readonly MappingRow[];
