// What the console needs of the directory and of the gateway to look after people: ports that the composition root fills.

import type { FactorSettings } from "../../../platform/config/config.ts";
import type { Disowning } from "../../../radius/conversation/report_not_me.ts";
import type { RecoveryCodes } from "../../../radius/factors/recovery_codes.ts";
import type { LoginTrials } from "../../../radius/conversation/login_dry_run.ts";
import type { Limits } from "../../../radius/factors/limits.ts";
import type { Pairings } from "../../../radius/factors/pairings.ts";
import type { Target, Targets } from "../../../scim/ports.ts";
import type { JsonObject, Mapping, ResourceKind } from "../../../scim/schema/resource.ts";
import type { ContentOutcome } from "../../../scim/schema/parse_resource.ts";
import type { FindUserRecord } from "../../../platform/user_record.ts";
import { Refusal } from "../errors.ts";

export interface People {
  readonly targets: Pick<Targets, "get" | "names">;
  /** The target whose users log in: pairings and locks belong to its users. */
  readonly loginTarget: string;
  readonly pairings: Pairings;
  readonly limits: Limits;
  readonly recoveryCodes: RecoveryCodes;
  /** What follows when a user (canonical name) says that a login was not theirs. */
  prepareDisowning(canonical: string): Disowning;
  /** Which record of the directory a user name belongs to. */
  readonly findUserRecord: FindUserRecord;
  readonly factors: Pick<
    FactorSettings,
    "enabled" | "countryCodes" | "requesterName" | "sends" | "lockout"
  >;
  /** Reads SCIM attributes into a content, as the identity interface reads a body. */
  readContent(
    kind: ResourceKind,
    body: JsonObject,
    options: { mapping: Mapping; pathName?: string; newName: () => string },
  ): ContentOutcome;
  /** Plays what a login would meet, without sending anything. */
  readonly trials: LoginTrials;
}

/** The part that a route needs, or the refusal where the console runs without a directory. */
export function required(people: People | undefined): People {
  if (people === undefined) throw new Refusal("no_directory");
  return people;
}

/** The target that a request names, else the one whose users log in. */
export function targetOf({ targets, loginTarget }: People, name: string | undefined): Target {
  const target = targets.get(name === undefined || name === "" ? loginTarget : name);
  if (target === null) throw new Refusal("unknown_target");
  return target;
}
