// User names of Access-Requests: which are refused, which domains and realms are removed before the look-up, and what an unknown
// name has in common with a known one.

import { canonicalName, isDeceptiveName } from "../../platform/canonical_name.ts";

/** Whether a text can be the domain or the realm of a user name. */
export function isDomainOrRealm(text: string): boolean {
  return /^[^\\@\s\p{C}]{1,253}$/u.test(text);
}

interface Stripping {
  readonly stripDomains: readonly string[];
  readonly stripRealms: readonly string[];
}

/**
 * The name after the listed domain (`CORP\alice`) and the listed realm (`alice@corp.example`) are removed, each at most once. A form that is
 * not listed stays, and so makes a different name.
 */
export function stripUserName(name: string, { stripDomains, stripRealms }: Stripping): string {
  if (stripDomains.length === 0 && stripRealms.length === 0) return name;
  const afterDomain = name.indexOf("\\") + 1;
  const isDomain = afterDomain > 0 && isListed(stripDomains, name.slice(0, afterDomain - 1));
  const user = isDomain ? name.slice(afterDomain) : name;
  const realmAt = user.lastIndexOf("@");
  return realmAt >= 0 && isListed(stripRealms, user.slice(realmAt + 1)) ? user.slice(0, realmAt) : user;
}

function isListed(list: readonly string[], affix: string): boolean {
  const wanted = canonicalName(affix);
  return list.some((entry) => canonicalName(entry) === wanted);
}

/** Whether an Access-Request with this name, after stripping, is rejected. */
export function isRefusedUserName(name: string): boolean {
  return name === "" || isDeceptiveName(name);
}

/** Whether a client's User-Names that are not in the directory are rejected. */
export function rejectsUnknownUsers(
  { unknownUsers, firstFactor }: {
    readonly unknownUsers: "auto" | "allow" | "reject";
    readonly firstFactor: string;
  },
): boolean {
  return unknownUsers === "reject" || (unknownUsers === "auto" && firstFactor !== "none");
}

/** A name that may be known, and how an unknown name differs from it. */
export interface SimilarName {
  readonly name: string;
  /** `letters`: other forms of the same letters, such as full-width ones. */
  readonly but: "domain" | "realm" | "blanks" | "invisible" | "letters";
  /** The domain or the realm that the unknown name has; "" for any other difference. */
  readonly affix: string;
}

/** Simpler forms of a name, to be looked up where the name itself is unknown. At most five. */
export function similarNames(name: string): SimilarName[] {
  const afterDomain = name.indexOf("\\") + 1;
  const realmAt = name.lastIndexOf("@");
  const letters = name.normalize("NFKC").trim().toUpperCase().toLowerCase();
  const found: SimilarName[] = [
    // A byte order mark is no blank: it cannot be seen.
    { name: name.replace(/^[^\S\ufeff]+|[^\S\ufeff]+$/g, ""), but: "blanks", affix: "" },
    { name: name.replace(/[\p{Cf}\0]/gu, "").trim(), but: "invisible", affix: "" },
    ...(afterDomain > 0
      ? [
        {
          name: name.slice(afterDomain),
          but: "domain",
          affix: name.slice(0, afterDomain - 1).trim(),
        } as const,
      ]
      : []),
    ...(realmAt > 0
      ? [{ name: name.slice(0, realmAt), but: "realm", affix: name.slice(realmAt + 1).trim() } as const]
      : []),
    { name: letters, but: "letters", affix: "" },
  ];
  const canonical = found.map((one) => canonicalName(one.name));
  return found.filter((_, at) =>
    canonical[at] !== "" && canonical[at] !== canonicalName(name) &&
    canonical.indexOf(canonical[at] as string) === at
  );
}
