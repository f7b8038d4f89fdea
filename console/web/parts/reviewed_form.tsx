// A form whose changes are reviewed before they are saved, and can be discarded. Leaving the page with changes asks first.

import type { ComponentChildren } from "preact";
import type { Router } from "../router.ts";
import { t } from "../i18n/translate.ts";
import { Button } from "./button.tsx";
import { UnsavedGuard } from "./unsaved_guard.tsx";

interface ReviewedFormProps {
  readonly router: Router;
  readonly id?: string;
  /** Whose words it speaks. */
  readonly area: "people" | "connect";
  /** Nothing was changed yet. */
  readonly isSame: boolean;
  /** Why nothing may be changed. */
  readonly reason?: string | undefined;
  readonly onReview: () => void;
  readonly onDiscard: () => void;
  readonly children: ComponentChildren;
}

export function ReviewedForm(props: ReviewedFormProps) {
  const { router, id, area, isSame, reason, onReview, onDiscard, children } = props;
  return (
    <form
      id={id}
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isSame) onReview();
      }}
    >
      <UnsavedGuard router={router} isDirty={!isSame} />
      {children}
      <div class="form-end">
        <Button
          type="submit"
          kind="primary"
          reason={reason ?? (isSame ? t(`${area}.nothing_changed`) : undefined)}
        >
          {t(`${area}.review`)}
        </Button>
        {!isSame && <Button onClick={onDiscard}>{t(`${area}.discard`)}</Button>}
      </div>
    </form>
  );
}
