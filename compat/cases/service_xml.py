"""XML of access policies and of service properties, which tables and queues share."""

import re

START = '<?xml version="1.0" encoding="utf-8"?>'


def identifier(name, inner=""):
    """One signed identifier."""
    return f"<SignedIdentifier><Id>{name}</Id>{inner}</SignedIdentifier>"


def identifiers(*inner):
    """The XML of a list of signed identifiers."""
    return f"{START}<SignedIdentifiers>{''.join(inner)}</SignedIdentifiers>"


NO_RETENTION = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>"
WEEK = "<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy>"
LOGGING_OFF = ("<Logging><Version>1.0</Version><Read>false</Read><Write>false</Write><Delete>false</Delete>"
               f"{NO_RETENTION}</Logging>")
LOGGING_ON = f"<Logging><Version>1.0</Version><Read>true</Read><Write>true</Write><Delete>true</Delete>{WEEK}</Logging>"
METRICS_OFF = f"<Version>1.0</Version><Enabled>false</Enabled>{NO_RETENTION}"
METRICS_ON = f"<Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>{WEEK}"
ALL_OFF = (f"{LOGGING_OFF}<HourMetrics>{METRICS_OFF}</HourMetrics><MinuteMetrics>{METRICS_OFF}</MinuteMetrics><Cors />")


def rule(origins="*", methods="GET", headers="*", exposed="*", age=200):
    """One CORS rule, with its elements in the order of the service's answers."""
    text = (f"<CorsRule><AllowedMethods>{methods}</AllowedMethods><AllowedOrigins>{origins}</AllowedOrigins>"
            f"<AllowedHeaders>{headers}</AllowedHeaders><ExposedHeaders>{exposed}</ExposedHeaders>"
            f"<MaxAgeInSeconds>{age}</MaxAgeInSeconds></CorsRule>")
    return re.sub(r"<(\w+)></\1>", r"<\1 />", text)
