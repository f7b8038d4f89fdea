// A file of the API, fetched with the session and saved: a refusal is said on the page and not saved as a file.

import { ApiFailure } from "../api_client.ts";

/**
 * Fetches and saves.
 *
 * @param address below this site, with its query.
 * @throws ApiFailure
 */
export async function download(address: string, fileName: string): Promise<void> {
  const response = await fetch(address).catch(() => {
    throw new ApiFailure("offline");
  });
  if (!response.ok) {
    const body: { error?: { code?: string; message?: string } } = await response.json().catch(() => ({}));
    throw new ApiFailure(body.error?.code ?? "nonsense", { message: body.error?.message ?? "" });
  }
  const content = await response.blob().catch(() => {
    throw new ApiFailure("offline");
  });
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(url);
}
