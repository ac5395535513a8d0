type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** Creates an HTML element. `true` is an attribute without a value; `false` and `undefined` are none. Texts stay texts. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly (Node | string | undefined | false)[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value)
  node.append(...children.filter((child) => child !== undefined && child !== false))
  return node
}

export function setAttribute(node: Element, name: string, value: Attributes[string]): void {
  if (value === undefined || value === false) node.removeAttribute(name)
  else node.setAttribute(name, value === true ? '' : String(value))
}

/** Returns the element with the focus, inside of shadow roots, too. */
export function focusedElement(): HTMLElement | undefined {
  let focused = document.activeElement
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement
  return focused instanceof HTMLElement ? focused : undefined
}
