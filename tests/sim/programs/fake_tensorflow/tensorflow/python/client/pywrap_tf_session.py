DEVICES = []  # (name, bytes)


def TF_DeviceListCount(devices):
    return len(devices)


def TF_DeviceListName(devices, index):
    return devices[index][0]


def TF_DeviceListMemoryBytes(devices, index):
    return devices[index][1]
