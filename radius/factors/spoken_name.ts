// The name of a user in a voice call.

/** Longer names of the directory are cut before they are spoken. */
const MAX_SPOKEN_CHARACTERS = 64;
/** A plain login name. Without blanks it is not a sentence, and with few digits it is not a phone number. */
const PLAIN_NAME = /^[\p{L}\p{N}._@\\-]{1,32}$/u;
const MAX_SPOKEN_DIGITS = 4;

/**
 * The user's name for a voice call. Anyone can begin a login with an invented name. So a name that the directory does not have is only spoken if it
 * cannot contain a message.
 */
export function spokenName(name: string, { exists }: { exists: boolean }): string {
  if (exists) return [...name].slice(0, MAX_SPOKEN_CHARACTERS).join("");
  const digits = name.match(/\p{N}/gu)?.length ?? 0;
  return PLAIN_NAME.test(name) && digits <= MAX_SPOKEN_DIGITS ? name : "this user";
}
