import type { GateReason } from '@nextvisit/contracts'

/** What each reason means for whoever asks why a user has not got a form. */
export const GATE_REASONS: { readonly [Reason in GateReason]: string } = {
  'properties-differ': 'the properties of the event are not those that the form asks for',
  'not-live': 'the form was not live at that moment',
  'not-in-audience': 'the user was not in the audience',
  'sampled-out': 'the user was not drawn for the sample',
  'repeat-exhausted': 'the form was queued before (shown, or still waiting) as often as its frequency allows',
  'too-soon': 'the user has had the form too recently',
  'cooling-down': 'another form was shown too recently',
  'already-waiting': 'the form was waiting for the user already',
}
