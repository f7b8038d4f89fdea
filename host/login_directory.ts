// The directory of the users who sign in, in the form that the RADIUS gateway needs.

import type { Directory } from "../radius/doing/ports.ts";
import { reducePhoneNumber } from "../radius/pure/phone_number.ts";
import type { Identity } from "../scim/identity.ts";

/** The directory as the gateway asks for it. */
export function directoryOf({ logins: { directory } }: Identity): Directory {
  return {
    prepare: directory.prepareLogin,
    lookUp(name) {
      const user = directory.login(name);
      return {
        ...user,
        phoneNumbers: user.phoneNumbers.flatMap((given) => reducePhoneNumber(given) ?? []),
      };
    },
  };
}
