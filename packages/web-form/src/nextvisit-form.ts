import { type AnswerSender, createAnswerSender, type Send } from './answer-sender.ts'
import type { Answers, FormAnswer, Offer } from '@nextvisit/contracts/shown-form'
import { focusedElement, h } from './dom.ts'
import { createFormView } from './form-view.ts'
import { createSavedOffer, type SavedOffer, unfinishedOffers } from './saved-offer.ts'
import { styleSheet } from './styles.ts'
import { directionOf, type Words, wordsIn } from './words.ts'

/** The detail of the events `nextvisit-finished` and `nextvisit-dismissed`. */
export interface FormEnd {
  readonly offerId: string
  readonly formId: string
}

/** The members of a client of `@nextvisit/web` that the element uses. */
export interface FormClient {
  readonly scope: string
  readonly onForm: (handle: (form: Offer) => void) => () => void
  readonly answer: (answer: FormAnswer) => Promise<unknown>
}

/** A shown form, until it is finished or dismissed. */
interface Shown {
  readonly offer: Offer
  readonly sender: AnswerSender
  readonly saved: SavedOffer
  readonly answers: () => Answers
  state: 'asking' | 'sending' | 'ended'
}

/** Time in ms after which the end of a form does not wait for the gateway any more: the client keeps the answers. */
const KEPT_AFTER_MS = 3_000

/** Selector of fields in which a user may be writing. */
const WRITABLE = 'input, textarea, select, [contenteditable]'

/** Servers, which may import the package, have no elements. */
const BaseElement: typeof HTMLElement = globalThis.HTMLElement ?? Object

/** The element `<nextvisit-form>`: shows the form of an offer, and sends its answers. */
export class NextvisitForm extends BaseElement {
  static readonly observedAttributes: readonly string[] = ['display']
  #offer: Offer | undefined
  #words: Partial<Words> | undefined
  #client: FormClient | undefined
  #removeHandler: (() => void) | undefined
  #shown: Shown | undefined
  #focusedBefore: HTMLElement | undefined
  /** Sends an answer to the gateway. Set it before the user answers, or set `client`. */
  declare send: Send | undefined

  /** The page's client of `@nextvisit/web`: the element shows its forms, resumes them after a reload, and sends their answers. */
  get client(): FormClient | undefined {
    return this.#client
  }
  set client(client: FormClient | undefined) {
    this.#removeHandler?.()
    this.#client = client
    if (this.isConnected) this.#handleForms()
  }

  /** The form to show: `nextFeedback` of the answer to a visit. */
  get offer(): Offer | undefined {
    return this.#offer
  }
  set offer(offer: Offer | undefined) {
    this.#offer = offer
    this.#render()
  }

  /** Replacements of fixed words, such as `{ send: 'Submit' }`. */
  get words(): Partial<Words> | undefined {
    return this.#words
  }
  set words(words: Partial<Words> | undefined) {
    this.#words = words
    this.#render()
  }

  connectedCallback(): void {
    this.#takeEarlyProperties()
    this.#handleForms()
    // Before the listener of the client, which then sends all that it has. When a page is left, this event follows `pagehide`.
    document.addEventListener('visibilitychange', this.#flushIfHidden, true)
    addEventListener('pagehide', this.#flush)
    this.#render()
  }

  disconnectedCallback(): void {
    document.removeEventListener('visibilitychange', this.#flushIfHidden, true)
    removeEventListener('pagehide', this.#flush)
    this.#removeHandler?.()
    this.#flush()
  }

  attributeChangedCallback(): void {
    this.#render()
  }

  /** Ends the form without its remaining answers, as its button *Close* does. */
  dismiss(): void {
    const shown = this.#shown
    if (shown?.state === 'asking') {
      shown.state = 'ended'
      // The user is gone; nobody can try again.
      shown.sender.end('dismissed', shown.answers()).catch(reportError)
      shown.saved.remove()
      this.#dispatch('nextvisit-dismissed', shown.offer)
    }
    this.#close()
  }

  #close(): void {
    const hadFocus = this.shadowRoot?.activeElement
    this.shadowRoot?.replaceChildren()
    if (hadFocus && this.#focusedBefore?.isConnected) this.#focusedBefore.focus()
    this.#focusedBefore = undefined
  }

  #handleForms(): void {
    this.#removeHandler?.()
    this.#removeHandler = this.#client?.onForm((form) => {
      if (!form.content) return
      const { offerId, formId, revision, language, content } = form
      const offer = { offerId, formId, revision, language, content }
      const saved = createSavedOffer(offer, this.#client?.scope)
      // Kept at once: another form may be open. An offer that comes again, because it was not confirmed, keeps its answers.
      saved.write(saved.read())
      this.#showNext()
    })
    this.#showNext()
  }

  /** Shows the next form of the client that is not ended, unless one is open. */
  #showNext(): void {
    if (!this.#client || this.#shown?.state === 'asking' || this.#shown?.state === 'sending') return
    const [next] = unfinishedOffers(this.#client.scope)
    if (next) this.offer = next
  }

  #send(answer: FormAnswer): Promise<unknown> {
    const { send } = this
    if (send) return send(answer)
    if (!this.#client) throw new Error('Set the property `client` or `send` of <nextvisit-form>')
    const sent = this.#client.answer(answer)
    return answer.status === 'partial'
      ? sent
      : Promise.race([sent, new Promise((end) => setTimeout(end, KEPT_AFTER_MS))])
  }

  #render(): void {
    // An end is final: the form of an ended offer does not come back.
    const { state, offer: current } = this.#shown ?? {}
    if (current && state !== 'asking' && current.offerId === this.#offer?.offerId) return
    this.#flush()
    this.#shown = undefined
    if (!this.isConnected) return
    const root = this.shadowRoot ?? this.attachShadow({ mode: 'open' })
    root.adoptedStyleSheets = [styleSheet()]
    const { offer } = this
    const { content, language = 'en' } = offer ?? {}
    if (!offer || !content) return root.replaceChildren()

    const words = wordsIn(language, this.words)
    const saved = createSavedOffer(offer, this.#client?.scope)
    const answers = saved.read()
    saved.write(answers)
    const sender = createAnswerSender(offer, async (answer) => this.#send(answer))
    const view = createFormView({
      content,
      words,
      answers,
      onInput: saved.write,
      onAnswer: sender.sendPartial,
      onSubmit: (complete) => this.#finish(shown, complete, words),
    })
    const shown: Shown = { offer, sender, saved, answers: view.answers, state: 'asking' }
    this.#shown = shown
    this.#place(root, view.node, words, language)
  }

  /** Puts the form, or the thanks, in the shadow root: in a dialog with a button *Close*, or in the page. */
  #place(root: ShadowRoot, node: HTMLElement, words: Words, language: string): void {
    const isPopover = this.getAttribute('display') !== 'inline'
    const title = this.offer?.content?.title
    const name = { 'aria-label': title ?? words.answer }
    const close = h('button', { type: 'button', class: 'close', 'aria-label': words.close }, '×')
    close.addEventListener('click', () => this.dismiss())
    const frame = h(
      'div',
      {
        class: isPopover ? 'form popover' : 'form',
        lang: language,
        dir: directionOf(language),
        tabindex: isPopover && -1,
        ...(isPopover && { role: 'dialog', ...name }),
      },
      isPopover && close,
      node,
    )
    if (isPopover && document.activeElement !== this) this.#focusedBefore = focusedElement()
    root.replaceChildren(frame)
    if (!isPopover) return
    frame.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || event.isComposing) return
      event.stopPropagation()
      this.dismiss()
    })
    // Keys that the user is typing must not go to the form.
    if (!this.#focusedBefore?.matches(WRITABLE)) frame.focus({ preventScroll: true })
  }

  async #finish(shown: Shown, answers: Answers, words: Words): Promise<void> {
    shown.state = 'sending'
    try {
      const ending = shown.sender.end('finished', answers)
      // The client keeps the answers from now on, also over a reload.
      if (this.#client) shown.saved.remove()
      await ending
    } catch (error) {
      shown.state = 'asking'
      shown.saved.write(answers)
      throw error
    }
    shown.state = 'ended'
    shown.saved.remove()
    const form = this.shadowRoot?.querySelector('form')
    if (this.#shown === shown && form) {
      const thanks = h(
        'p',
        { class: 'thanks', tabindex: -1, role: 'status' },
        shown.offer.content?.thanks ?? words.sent,
      )
      form.replaceWith(thanks)
      thanks.focus()
    }
    this.#dispatch('nextvisit-finished', shown.offer)
  }

  #dispatch(name: string, { offerId, formId }: Offer): void {
    const detail: FormEnd = { offerId, formId }
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }))
  }

  readonly #flush = (): void => {
    if (this.#shown?.state === 'asking') this.#shown.sender.flush()
  }

  readonly #flushIfHidden = (): void => {
    if (document.visibilityState === 'hidden') this.#flush()
  }

  /** Takes the properties that the page set before the element was defined. */
  #takeEarlyProperties(): void {
    for (const name of ['client', 'offer', 'words'] as const) {
      if (!Object.hasOwn(this, name)) continue
      const value = this[name]
      delete this[name]
      Object.assign(this, { [name]: value })
    }
  }
}
