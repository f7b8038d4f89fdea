// What every part of an open account is given.

import type { Account } from "../account.ts";
import type { MeFactors, MeInfo } from "../../api/account/account_types.ts";
import type { MeModels } from "../me_models.ts";

export interface PartProps {
  readonly models: MeModels;
  readonly account: Account;
  readonly me: MeInfo;
}

export interface FactorProps extends PartProps {
  readonly factors: MeFactors;
}
