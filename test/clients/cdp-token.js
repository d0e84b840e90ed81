/** Prints the token that Coinbase's SDK makes for a call of its facilitator. */
import { generateJwt } from '@coinbase/cdp-sdk/auth'

const { API_KEY_ID: apiKeyId, API_KEY_SECRET: apiKeySecret, RESOURCE } = process.env
const { host: requestHost, pathname: requestPath } = new URL(RESOURCE)
const call = { requestMethod: 'POST', requestHost, requestPath }
process.stdout.write(await generateJwt({ apiKeyId, apiKeySecret, ...call, expiresIn: 120, audience: ['cdp_service'] }))
