/** Whether nobody sees the page. */
export function isHidden(): boolean {
  return document.visibilityState === 'hidden'
}
