import type { DeviceFacts, DeviceField } from '@nextvisit/contracts'
import { checkDeviceValue } from '../bodies/device-info.ts'
import { memberIn } from '../bodies/json-object.ts'

/** As `$deviceOs` names them, by how the libraries do. */
const SYSTEMS: Readonly<Record<string, string>> = {
  ios: 'iOS',
  ipados: 'iOS',
  'iphone os': 'iOS',
  android: 'Android',
  windows: 'Windows',
}

/** `context` as `$deviceInfo`. What no device field can hold is left out: a library sends it, not the customer. */
export function deviceInfoOf(context: unknown): DeviceFacts {
  const [os, app, device] = ['os', 'app', 'device'].map((part) => memberIn(context, part))
  const system = memberIn(os, 'name')
  const kind = memberIn(device, 'type')
  const fields: readonly (readonly [DeviceField, unknown])[] = [
    ['$deviceLanguage', memberIn(context, 'locale')],
    ['$timezone', memberIn(context, 'timezone')],
    ['$deviceOs', typeof system === 'string' ? SYSTEMS[system.toLowerCase()] : undefined],
    ['$deviceOsVersion', memberIn(os, 'version')],
    ['$app', memberIn(app, 'name')],
    ['$appVersion', memberIn(app, 'version')],
    ['$deviceId', memberIn(device, 'id')],
    ['$deviceType', kind === 'ios' || kind === 'android' ? 'native' : undefined],
  ]
  return Object.fromEntries(
    fields.flatMap(([field, value]) => {
      const checked = checkDeviceValue(field, value, field)
      return checked.outcome === 'ok' ? [[field, checked.value]] : []
    }),
  )
}
