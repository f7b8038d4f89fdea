// Who is invited and who is not: a pure decision about a user, and the users of a source.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { userMailAddress } from "../../../platform/mail/mail_address.ts";
import type { Target } from "../../../scim/ports.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import type { People } from "../deps.ts";
import { DetailedRefusal, Refusal } from "../errors.ts";
import { matchingUsers, type UserListFilters } from "../users/user_list.ts";
import { directoryNumbers } from "../users/user_views.ts";
import {
  type CampaignOptions,
  type CampaignSource,
  type EnrolmentDeps,
  MAX_CAMPAIGN_USERS,
  type SkipReason,
} from "./campaigns.ts";

/** What the decision about a user depends on. */
export interface Candidate {
  /** `null`: the directory has no such user. */
  readonly user:
    | { readonly isActive: boolean; readonly hasAddress: boolean; readonly hasNumber: boolean }
    | null;
  readonly hasFactor: boolean;
  /** Whether the link of the last invitation still works. */
  readonly hasOpenLink: boolean;
}

/** Why a user is not invited, or `null`. */
export function whyNotInvited(
  { user, hasFactor, hasOpenLink }: Candidate,
  options: Pick<CampaignOptions, "again" | "includesNumbers">,
): SkipReason | null {
  if (user === null) return "unknown_user";
  if (!user.isActive) return "inactive";
  if (hasFactor) return "has_factor";
  if (user.hasNumber && !options.includesNumbers) return "has_number";
  if (hasOpenLink && !options.again) return "invited_already";
  return user.hasAddress ? null : "no_address";
}

/** Whether the user has a factor besides recovery codes: a pairing or a hardware token. */
export function hasEnrolled(
  { pairings, hardwareTokens }: Pick<People, "pairings" | "hardwareTokens">,
  canonical: string,
): boolean {
  return pairings.of(canonical).length > 0 || hardwareTokens.of(canonical).length > 0;
}

/** @param canonical the name of the user in the directory */
export function candidateOf(
  { people, secondFactorAdmin }: Pick<EnrolmentDeps, "people" | "secondFactorAdmin">,
  stored: Stored | null,
  canonical: string,
): Candidate {
  const pairings = people.pairings.of(canonical);
  const content = stored?.content;
  const mark = people.enrolment.of(canonical);
  return {
    user: content?.kind !== "user" ? null : {
      isActive: content.active,
      hasAddress: userMailAddress(content) !== null,
      hasNumber: directoryNumbers(people, { content, pairings }).length > 0,
    },
    hasFactor: hasEnrolled(people, canonical),
    hasOpenLink: mark !== null && secondFactorAdmin()?.isInvitationOpen(mark.invitation) === true,
  };
}

/** A user of the directory, also if the user was renamed since the campaign began. */
export async function readCandidate(
  { directory }: Target,
  name: string,
): Promise<{ stored: Stored | null; canonical: string }> {
  const canonical = canonicalName(name);
  const stored = await directory.read("user", canonical);
  if (stored !== null) return { stored, canonical };
  const later = await directory.renamedTo("user", canonical);
  if (later === null) return { stored: null, canonical };
  return { stored: await directory.read("user", later), canonical: later };
}

/** The users of a request. `names`: selected users, or those of an import. */
export type CampaignChoice =
  | { readonly names: readonly string[]; readonly file?: string | undefined }
  | { readonly group: string }
  | { readonly filters: UserListFilters };

/** Users that one selection by filters reads. */
const MAX_SCANNED = 200_000;

/** The names of a choice, each once. @throws Refusal `unknown_object`, `campaign_too_large`, `bad_filter`. */
export async function chosenNames(people: People, target: Target, choice: CampaignChoice): Promise<string[]> {
  const names = new Map<string, string>();
  const add = (name: string): void => {
    names.set(canonicalName(name), name);
    if (names.size > MAX_CAMPAIGN_USERS) throw new Refusal("campaign_too_large");
  };
  if ("names" in choice) choice.names.forEach(add);
  else if ("group" in choice) {
    const stored = await target.directory.read("group", canonicalName(choice.group));
    if (stored?.content.kind !== "group") throw new Refusal("unknown_object");
    stored.content.members.forEach(add);
  } else {
    const { filters } = choice;
    for await (const { content } of matchingUsers(people, target, { filters, most: MAX_SCANNED })) {
      add(content.name);
    }
  }
  if (names.size === 0) throw new DetailedRefusal("bad_value", { message: "No user is selected." });
  return [...names.values()];
}

export function sourceOf(choice: CampaignChoice): CampaignSource {
  if ("names" in choice) {
    return choice.file === undefined ? { kind: "users" } : { kind: "import", file: choice.file };
  }
  return "group" in choice
    ? { kind: "group", group: choice.group }
    : { kind: "filter", filters: choice.filters };
}
