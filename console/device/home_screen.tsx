// Pairing in the installed app: an iPhone gives a page on the Home Screen its own storage, so the invitation must reach the app as a
// link that the user pastes.

import { useSignal } from "@preact/signals";
import { t } from "../web/i18n/translate.ts";

/** Safari has no way to install a page by a button. */
export function HomeScreenSteps() {
  return (
    <>
      <p>{t("device.home_screen_why")}</p>
      <ol class="steps">
        <li>{t("device.home_screen_share")}</li>
        <li>{t("device.home_screen_add")}</li>
        <li>{t("device.home_screen_open")}</li>
      </ol>
    </>
  );
}

/** Before pairing in Safari on iOS: the notifications would need another pairing later. */
export function HomeScreenFirst({ invitation }: { invitation: string }) {
  const isCopied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(invitationLink(invitation));
    isCopied.value = true;
  };
  return (
    <section class="card" aria-labelledby="home-screen">
      <h2 id="home-screen">{t("device.home_screen_title")}</h2>
      <HomeScreenSteps />
      <button type="button" class="button button-primary" onClick={() => void copy()}>
        {t("device.invitation_copy")}
      </button>
      <p role="status">{isCopied.value && t("device.invitation_copied")}</p>
    </section>
  );
}

function invitationLink(invitation: string): string {
  return `${location.origin}/device/#invite=${invitation}`;
}

/** Takes the link of an invitation. */
export function InvitationField({ onInvitation }: { onInvitation: (invitation: string) => void }) {
  const typed = useSignal("");
  const invitation = invitationIn(typed.value);
  return (
    <form
      class="invitation"
      onSubmit={(event) => {
        event.preventDefault();
        if (invitation !== null) onInvitation(invitation);
      }}
    >
      <div class="field">
        <label for="invitation-link">{t("device.invitation_link")}</label>
        <input
          id="invitation-link"
          class="input"
          type="url"
          autocomplete="off"
          value={typed.value}
          aria-describedby="invitation-link-hint"
          onInput={(event) => typed.value = event.currentTarget.value}
        />
        <span class="hint" id="invitation-link-hint">{t("device.invitation_link_hint")}</span>
      </div>
      <button type="submit" class="button" disabled={invitation === null}>
        {t("device.invitation_open")}
      </button>
    </form>
  );
}

/** The invitation in a link; `null` if the text is no such link. */
export function invitationIn(text: string): string | null {
  return /#invite=([\w-]{1,256})$/.exec(text.trim())?.[1] ?? null;
}
