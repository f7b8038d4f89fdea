// Pairs another phone: a link as QR code and text, with the time that it is good for; closes when the phone is there.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { countdownText, durationText } from "../../web/format.ts";
import type { QrPicture } from "../../api/qr_svg.ts";
import { CopyButton } from "../../web/parts/copy_button.tsx";
import { Dialog } from "../../web/parts/dialog.tsx";
import { Note } from "../../web/parts/note.tsx";
import { QrCode } from "../../web/parts/qr_code.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { FactorProps } from "./part_props.ts";

const LOOK_EVERY_MS = 2500;
/** From so long on a countdown of seconds says less than "23 h". */
const COUNTED_MS = 90 * 60_000;

export function InviteDialog({ models, account, factors, onClose }: FactorProps & { onClose: () => void }) {
  const made = useSignal<{ url: string; qr: QrPicture | null; deadlineMs: number } | null>(null);
  const problem = useSignal<string | null>(null);
  const known = useSignal(new Set(factors.devices.map(({ pairingId }) => pairingId)));
  const make = async () => {
    problem.value = null;
    made.value = await account.run({
      call: account.calls.invite,
      onProblem: (sentence) => problem.value = sentence,
    });
  };
  useEffect(() => {
    void make();
    const timer = setInterval(() => void account.factors.load(account.calls.factors), LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const isPaired = factors.devices.some(({ pairingId }) => !known.value.has(pairingId));
  useEffect(() => {
    if (!isPaired) return;
    models.toasts.say(t("me.phone_added"), { tone: "ok" });
    onClose();
  }, [isPaired]);
  const invitation = made.value;
  const leftMs = (invitation?.deadlineMs ?? Infinity) - models.clock.nowMs.value;
  return (
    <Dialog
      title={t(factors.devices.length === 0 ? "me.phone_add" : "me.phone_add_another")}
      onClose={onClose}
    >
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {invitation !== null && leftMs <= 0 && (
        <>
          <p role="status">{t("me.phone_add_over")}</p>
          <button type="button" class="button button-primary" onClick={() => void make()}>
            {t("me.phone_add_new")}
          </button>
        </>
      )}
      {invitation !== null && leftMs > 0 && (
        <>
          <p>{t("me.phone_add_how")}</p>
          <div class="me-qr">
            <QrCode picture={invitation.qr} label={t("me.phone_add_qr")} />
          </div>
          <p class="me-link mono">{invitation.url}</p>
          <div class="me-deeds">
            <CopyButton text={invitation.url} what={t("me.copy_link")} />
            <span class="quiet small">
              {t("me.phone_add_left")}{" "}
              <span class="mono">{leftMs > COUNTED_MS ? durationText(leftMs) : countdownText(leftMs)}</span>
            </span>
          </div>
          <p class="quiet small me-waiting">{t("me.phone_add_waiting")}</p>
        </>
      )}
    </Dialog>
  );
}
