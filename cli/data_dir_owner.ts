// Whether the data directory belongs to the user who runs a command: files that root creates there would lock the server out,
// and a process that listens in another user's directory must not receive a secret.

/**
 * Compares owners without asking the system who this is: by a file that is made in the directory and removed.
 *
 * @returns a sentence that says what is wrong; `null` when all is well, or when the directory is still to be made.
 */
export async function foreignOwner(path: string): Promise<string | null> {
  // A server's own files say more than the directory, which a container may have been given from outside.
  const theirs = await ownerOf(`${path}/lock`) ?? await ownerOf(path);
  if (theirs === null || theirs.uid === null) return null;
  const ours = await ownUser(path);
  if (ours === null) {
    return `Cannot use the data directory "${path}": this user may not write there. Run the command as the server's user.`;
  }
  return ours === theirs.uid
    ? null
    : `Cannot use the data directory "${path}": it belongs to user ${theirs.uid}, and this is user ${ours}. ` +
      `Run the command as that user, for one with sudo -u '#${theirs.uid}'.`;
}

/** `null` when nothing is there; on systems without owners the uid is `null`. */
async function ownerOf(path: string): Promise<{ uid: number | null } | null> {
  try {
    const { uid } = await Deno.lstat(path);
    return { uid };
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound || fault instanceof Deno.errors.PermissionDenied) return null;
    throw fault;
  }
}

async function ownUser(path: string): Promise<number | null> {
  const probe = `${path}/.owner-${crypto.getRandomValues(new Uint8Array(8)).toHex()}`;
  try {
    (await Deno.open(probe, { write: true, createNew: true, mode: 0o600 })).close();
  } catch (fault) {
    if (fault instanceof Deno.errors.PermissionDenied) return null;
    throw fault;
  }
  try {
    return (await Deno.stat(probe)).uid;
  } finally {
    await Deno.remove(probe);
  }
}
