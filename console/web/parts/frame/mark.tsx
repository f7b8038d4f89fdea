// The product's mark.

/** The product's mark: a challenge goes out, its answer comes back. */
export function Mark({ size = 20 }: { size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width="2.2"
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      <path d="M2.5 6.5h13M12 2.5l4 4-4 4" />
      <path d="M17.5 13.5h-13M8 9.5l-4 4 4 4" opacity="0.55" />
    </svg>
  );
}
