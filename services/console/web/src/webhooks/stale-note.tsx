/** Says that the latest records may be missing from an answer of the dispatcher. */
export function StaleNote({ isStale }: { readonly isStale: boolean }) {
  if (!isStale) return null
  return <p className="note">The webhook dispatcher lags, so the latest deliveries may be missing.</p>
}
