export function Wordmark() {
  return (
    <span className="wordmark">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M9 23V9l14 14V9" />
      </svg>
      Nextvisit
    </span>
  )
}
