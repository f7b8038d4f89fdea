// The directory of the login target in the form that the gateway needs.

import { reducePhoneNumber } from "../platform/phone_number.ts";
import type { DirectoryUser, LoginDirectory, OtherNames } from "./ports.ts";

/** The users of the directory that is the login target now. Names are canonical. */
interface LoginUsers {
  /** See {@link LoginDirectory.prepare}. */
  prepareLogin(name: string): Promise<void> | null;
  /** With phone numbers as the directory has them. */
  login(name: string): DirectoryUser;
}

/** The groups of a user, with those that contain them. */
export function allGroupsOf({ groups, allGroups = groups }: DirectoryUser): readonly string[] {
  return allGroups;
}

/** Reduces phone numbers to + and digits. @param users asked at each call, because the login target can change */
export function loginDirectoryOf(users: () => LoginUsers, otherNames?: OtherNames): LoginDirectory {
  return {
    ...(otherNames === undefined ? {} : { otherNames }),
    prepare: (name) => users().prepareLogin(name),
    lookUp(name) {
      const user = users().login(name);
      if (user.phoneNumbers.length === 0) return user;
      return { ...user, phoneNumbers: user.phoneNumbers.flatMap((given) => reducePhoneNumber(given) ?? []) };
    },
  };
}
