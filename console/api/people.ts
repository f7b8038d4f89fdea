// The users of the directory with their factors, from the services of the gateway and the directory.

import type { Config } from "../../platform/config/config.ts";
import type { FindUserRecord } from "../../platform/user_record.ts";
import type { LastSignIns } from "../../radius/factors/last_sign_ins.ts";
import type { Radius } from "../../radius/radius.ts";
import type { Scim } from "../../scim/scim.ts";
import type { People } from "./deps.ts";

export interface PeopleSources {
  readonly config: Pick<Config, "factors" | "helpDesk">;
  readonly radius: Radius;
  readonly identity: Pick<Scim, "targets" | "logins">;
  readonly findUserRecord: FindUserRecord;
  readonly lastSignIns: LastSignIns;
  readonly parseResource: People["readContent"];
}

export function createPeople(
  { config, radius, identity, findUserRecord, lastSignIns, parseResource }: PeopleSources,
): People {
  const {
    pairings,
    limits,
    recoveryCodes,
    hardwareTokens,
    enrolment,
    factorMarks,
    bypassCodes,
    policies,
    access,
    prepareNotMeReport,
  } = radius;
  return {
    ...{
      pairings,
      limits,
      recoveryCodes,
      hardwareTokens,
      enrolment,
      factorMarks,
      bypassCodes,
      policies,
      access,
      prepareNotMeReport,
      lastSignIns,
    },
    targets: identity.targets,
    loginTarget: () => identity.logins.name,
    findUserRecord: (userName) => findUserRecord(userName),
    factors: config.factors,
    helpDesk: config.helpDesk,
    readContent: parseResource,
    trials: radius.loginDryRun,
  };
}
